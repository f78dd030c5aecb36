//! From frame to frame, outwards.

use super::addresses::Addresses;
use super::arch;
use super::memory::Memory;
use super::modules::Tables;
use framehop::{FrameAddress, Unwinder as _};
use sisal_context::switch::{Registers, call_on_return};

/// The return addresses of the stack that `from` stands on. Nothing is allocated.
pub(super) fn walk(tables: &mut Tables, memory: &mut Memory, from: Registers) -> Addresses {
    let mut addresses = Addresses::new();
    // See `Addresses` for the one.
    addresses.push(from.pc.wrapping_add(1));
    let highest = tables.unwinder.max_known_code_address();
    let mut registers = arch::start(from, highest);
    let mut frame = FrameAddress::from_instruction_pointer(from.pc as u64);
    loop {
        let next = if frame.address() == call_on_return() as u64 {
            leave_stack(memory, &mut registers)
        } else {
            tables
                .unwinder
                .unwind_frame(frame, &mut registers, &mut tables.cache, &mut |at| memory.read(at))
                .ok()
                .flatten()
        };
        let Some(outer) = next.and_then(FrameAddress::from_return_address) else { return addresses };
        if !addresses.push(outer.address() as usize) {
            return addresses;
        }
        frame = outer;
    }
}

/// Goes from the outermost frame of a stack that code was called on to the stack it was called from. Unwinders refuse to go to one at lower
/// addresses.
fn leave_stack(memory: &mut Memory, registers: &mut super::UnwindRegisters) -> Option<u64> {
    let record = arch::frame_pointer(registers);
    let fp = memory.read(record).ok()?;
    let address = memory.read(record.checked_add(8)?).ok()?;
    Some(arch::set_returned(registers, record.checked_add(16)?, fp, address))
}
