//! Channels, select, locks, time limits, nurseries and transactions.

use crate::Outcome;
use crate::print::{grouped, line, milliseconds, nanoseconds, section};
use sisal::chan::{after, bounded};
use sisal::stm::{TVar, atomically};
use std::error::Error;
use std::time::{Duration, Instant};

/// Without room in it, a channel is a meeting: the value goes from one fiber's frame into the other's.
pub(crate) fn hand_to_hand() -> Outcome {
    const ROUNDS: u64 = 200_000;
    section(10, "A ball, from hand to hand and back");
    let (there, out) = bounded(0);
    let (back, home) = bounded(0);
    let wall = sisal::spawn_local(move || out.iter().all(|ball| back.send(ball).is_ok()));
    let start = Instant::now();
    for ball in 0..ROUNDS {
        there.send(ball)?;
        home.recv()?;
    }
    line("for each round trip", nanoseconds(start.elapsed(), ROUNDS));
    drop(there);
    line("the wall heard that the game was over", wall.join()?);
    Ok(())
}

/// Stages joined by channels. When the first is done and its sender gone, the end runs through all of them.
pub(crate) fn a_pipeline() -> Outcome {
    const ITEMS: u64 = 500_000;
    section(11, "A pipeline of four stages");
    let start = Instant::now();
    let (sender, numbers) = bounded(128);
    drop(sisal::spawn(move || (1..=ITEMS).all(|number| sender.send(number).is_ok())));
    let stage = |input: sisal::chan::Receiver<u64>| {
        let (sender, output) = bounded(128);
        drop(sisal::spawn(move || input.iter().all(|number| sender.send(number + 1).is_ok())));
        output
    };
    let sum: u64 = stage(stage(numbers)).iter().sum();
    line("the sum at its end", grouped(sum));
    line("for each item and stage", nanoseconds(start.elapsed(), ITEMS * 4));
    Ok(())
}

/// The first of several channels, and a clock.
pub(crate) fn whatever_comes_first() -> Outcome {
    section(12, "Whatever comes first");
    let (sender, letters) = bounded(0);
    let (_quiet, parcels) = bounded::<&str>(0);
    drop(sisal::spawn(move || {
        for letter in ["from the north", "from the south"] {
            let _ = sisal::sleep(Duration::from_millis(5));
            let _ = sender.send(letter);
        }
    }));
    for _ in 0..3 {
        sisal::select! {
            recv(letters) -> letter => line("a letter", letter.unwrap_or("no more letters")),
            recv(parcels) -> parcel => line("a parcel", parcel?),
            recv(after(Duration::from_millis(50))) => line("nothing", "for 50 ms"),
        }
    }
    Ok(())
}

/// A nursery ends when all its children have, so they may borrow from whoever opened it. The first error ends the others.
pub(crate) fn children_that_borrow() -> Outcome {
    section(13, "A nursery");
    let words = ["fibers", "borrow", "this"];
    let mut lengths = [0; 3];
    sisal::nursery(|n| {
        for (word, length) in words.iter().zip(&mut lengths) {
            n.spawn(move || *length = word.len());
        }
        Ok::<_, sisal::Cancelled>(())
    })?;
    line("written by three children", format!("{lengths:?}"));
    let letters = sisal::nursery(|n| {
        let children = words.map(|word| n.spawn(|| Ok(word.len())));
        children.into_iter().map(|child| child.join()).sum::<Result<usize, sisal::Cancelled>>()
    })?;
    line("returned by three children, in all", letters);

    let start = Instant::now();
    let result = sisal::nursery(|n| {
        n.spawn(|| sisal::sleep(Duration::from_secs(3_600)).map_err(|cancelled| cancelled.to_string()));
        n.spawn(|| Err::<(), _>("the well is dry".to_owned()));
        Ok(())
    });
    line("the first error, after all have ended", result.unwrap_err());
    line("it took", milliseconds(start.elapsed()));
    Ok(())
}

/// A time limit bounds everything that is called inside, however deep.
pub(crate) fn in_time() -> Outcome {
    section(14, "A time limit around everything");
    let start = Instant::now();
    let (_sender, receiver) = bounded::<()>(0);
    let deep_inside = || sisal::spawn(|| 7).join().map_err(Box::<dyn Error>::from).and_then(|_| Ok(receiver.recv()?));
    match sisal::timeout(Duration::from_millis(20), deep_inside) {
        Ok(()) => line("a message", "came"),
        Err(error) => line("what came back", error),
    }
    line("it took", milliseconds(start.elapsed()));
    Ok(())
}

/// Several variables change together or not at all, and whoever cannot go on waits for a change.
pub(crate) fn together_or_not_at_all() -> Outcome {
    const TRANSFERS: u64 = 2_000;
    section(15, "Transactions");
    let (one, two) = (TVar::new(0u64), TVar::new(100u64));
    let move_one = |from: TVar<u64>, to: TVar<u64>| {
        sisal::spawn(move || {
            for _ in 0..TRANSFERS {
                atomically(|tx| {
                    let left = tx.read(&from)?;
                    if left == 0 {
                        return tx.retry();
                    }
                    tx.write(&from, left - 1)?;
                    tx.modify(&to, |there| there + 1)
                });
            }
        })
    };
    let movers = [move_one(one.clone(), two.clone()), move_one(two.clone(), one.clone())];
    for mover in movers {
        mover.join()?;
    }
    line("two accounts, after 4,000 transfers", format!("{} and {}", one.get(), two.get()));
    Ok(())
}
