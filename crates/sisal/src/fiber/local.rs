//! Fiber-locals: values that each fiber has for itself, made at first use and dropped at its end.
//!
//! A handful of values is looked up by the address of their key. Outside of fibers they belong to the thread.
use super::current;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::mem::ManuallyDrop;
use std::rc::Rc;

/// How many values may be made while those of a fiber are dropped. A destructor that uses its own key would make one each time, and the fiber would
/// never end.
const MOST_LATE: usize = 1_000;

/// The values of one fiber or thread, by the addresses of their keys.
#[derive(Default)]
pub(crate) struct Locals {
    values: RefCell<Vec<(usize, Rc<dyn Any>)>>,
}

thread_local! {
    /// There until the very end of the thread, so that the destructors of these values may use others.
    static OF_THREAD: ManuallyDrop<Locals> = const { ManuallyDrop::new(Locals::new()) };
    static END_OF_THREAD: EndOfThread = const { EndOfThread };
}

/// Drops the values of a thread that ends.
struct EndOfThread;

impl Drop for EndOfThread {
    fn drop(&mut self) {
        OF_THREAD.with(|locals| {
            locals.drop_each(drop);
            locals.values.take();
        });
    }
}

fn of_thread<T: 'static>(key: usize, init: fn() -> T) -> Rc<T> {
    // A value that is made even later than that is not dropped.
    let _ = END_OF_THREAD.try_with(|_| ());
    OF_THREAD.with(|locals| locals.get_or_init(key, init))
}

impl Locals {
    const fn new() -> Locals {
        Locals { values: RefCell::new(Vec::new()) }
    }

    fn find<T: 'static>(&self, key: usize) -> Option<Rc<T>> {
        let values = self.values.borrow();
        let (_, value) = values.iter().find(|(found, _)| *found == key)?;
        Rc::clone(value).downcast().ok()
    }

    fn get_or_init<T: 'static>(&self, key: usize, init: fn() -> T) -> Rc<T> {
        if let Some(value) = self.find(key) {
            return value;
        }
        // `init` may use other fiber-locals, even this one, and may park: nothing is borrowed meanwhile.
        let value = Rc::new(init());
        self.find(key).unwrap_or_else(|| {
            self.values.borrow_mut().push((key, Rc::clone(&value) as Rc<dyn Any>));
            value
        })
    }

    /// Lets go of the values by `drop`, newest first, also of those that are made meanwhile. Of these [`MOST_LATE`] at most: the rest is leaked.
    pub(crate) fn drop_each(&self, drop: impl Fn(Rc<dyn Any>)) {
        let most = self.values.borrow().len() + MOST_LATE;
        for _ in 0..most {
            // The borrow ends before the value is dropped, since its destructor may use others.
            let newest = self.values.borrow_mut().pop();
            let Some((_, value)) = newest else { return };
            drop(value);
        }
        std::mem::forget(self.values.take());
    }
}

/// A fiber-local variable, declared by [`fiber_local!`](crate::fiber_local).
///
/// ```
/// use std::cell::Cell;
/// sisal::fiber_local! { static REQUEST: Cell<u32> = Cell::new(0); }
/// let key: &'static sisal::fiber::LocalKey<Cell<u32>> = &REQUEST;
/// key.with(|request| request.set(7));
/// assert_eq!(REQUEST.with(|request| request.get()), 7);
/// ```
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> LocalKey<T> {
        LocalKey { init }
    }

    /// Calls `f` with this fiber's value, making it first if need be. Outside of fibers it is the thread's value.
    ///
    /// The value is dropped, on its own worker, when the fiber ends. A panic in that is printed, and goes no further. Values that are made by the
    /// dropping of others are dropped too; if there is no end to them, those after the first thousand are leaked.
    ///
    /// ```
    /// use std::cell::Cell;
    /// sisal::fiber_local! { static DEPTH: Cell<u32> = Cell::new(0); }
    /// sisal::run(|| {
    ///     DEPTH.with(|depth| depth.set(7));
    ///     let other = sisal::spawn(|| DEPTH.with(|depth| depth.get()));
    ///     assert_eq!(other.join().unwrap(), 0);
    ///     assert_eq!(DEPTH.with(|depth| depth.get()), 7);
    /// });
    /// ```
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let key = std::ptr::from_ref(self).addr();
        let value = match current::fiber() {
            Some(fiber) => fiber.locals.get_or_init(Box::default).get_or_init(key, self.init),
            None => of_thread(key, self.init),
        };
        f(&value)
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets this fiber's value.
    ///
    /// ```
    /// use std::cell::Cell;
    /// sisal::fiber_local! { static DEPTH: Cell<u32> = Cell::new(0) }
    /// DEPTH.set(7);
    /// assert_eq!(DEPTH.get(), 7);
    /// ```
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// A copy of this fiber's value.
    ///
    /// ```
    /// use std::cell::Cell;
    /// sisal::fiber_local! { static DEPTH: Cell<u32> = Cell::new(3) }
    /// assert_eq!(DEPTH.get(), 3);
    /// ```
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes this fiber's value, and leaves the default.
    ///
    /// ```
    /// use std::cell::Cell;
    /// sisal::fiber_local! { static NAME: Cell<String> = Cell::new("main".into()) }
    /// assert_eq!(NAME.take(), "main");
    /// assert_eq!(NAME.take(), "");
    /// ```
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Sets this fiber's value, and returns what it was.
    ///
    /// ```
    /// use std::cell::Cell;
    /// sisal::fiber_local! { static DEPTH: Cell<u32> = Cell::new(3) }
    /// assert_eq!(DEPTH.replace(4), 3);
    /// ```
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Calls `f` with this fiber's value, borrowed.
    ///
    /// # Panics
    /// If it is borrowed mutably.
    ///
    /// ```
    /// use std::cell::RefCell;
    /// sisal::fiber_local! { static LINES: RefCell<Vec<u32>> = RefCell::new(vec![1, 2]) }
    /// assert_eq!(LINES.with_borrow(|lines| lines.len()), 2);
    /// ```
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Calls `f` with this fiber's value, borrowed mutably.
    ///
    /// # Panics
    /// If it is borrowed.
    ///
    /// ```
    /// use std::cell::RefCell;
    /// sisal::fiber_local! { static LINES: RefCell<Vec<u32>> = RefCell::default() }
    /// LINES.with_borrow_mut(|lines| lines.push(7));
    /// assert_eq!(LINES.with_borrow(|lines| lines[0]), 7);
    /// ```
    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets this fiber's value.
    ///
    /// # Panics
    /// If it is borrowed.
    ///
    /// ```
    /// use std::cell::RefCell;
    /// sisal::fiber_local! { static LINES: RefCell<Vec<u32>> = RefCell::default() }
    /// LINES.set(vec![7]);
    /// assert_eq!(LINES.take(), [7]);
    /// ```
    pub fn set(&'static self, value: T) {
        self.replace(value);
    }

    /// Takes this fiber's value, and leaves the default.
    ///
    /// # Panics
    /// If it is borrowed.
    ///
    /// ```
    /// use std::cell::RefCell;
    /// sisal::fiber_local! { static LINES: RefCell<Vec<u32>> = RefCell::new(vec![7]) }
    /// assert_eq!(LINES.take(), [7]);
    /// assert!(LINES.take().is_empty());
    /// ```
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Sets this fiber's value, and returns what it was.
    ///
    /// # Panics
    /// If it is borrowed.
    ///
    /// ```
    /// use std::cell::RefCell;
    /// sisal::fiber_local! { static LINES: RefCell<Vec<u32>> = RefCell::new(vec![7]) }
    /// assert_eq!(LINES.replace(vec![8]), [7]);
    /// ```
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// Declares fiber-local variables: each fiber has its own value, made at first use and dropped when the fiber ends.
///
/// Outside of fibers each thread has its own. See [`LocalKey::with`](crate::fiber::LocalKey::with).
///
/// ```
/// use std::cell::RefCell;
/// sisal::fiber_local! {
///     /// What this fiber has to say.
///     pub static LINES: RefCell<Vec<String>> = RefCell::new(Vec::new());
/// }
/// LINES.with(|lines| lines.borrow_mut().push("outside".into()));
/// sisal::run(|| LINES.with(|lines| assert!(lines.borrow().is_empty())));
/// ```
#[macro_export]
macro_rules! fiber_local {
    ($($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $init:expr);+ $(;)?) => {
        $($(#[$attribute])*
        $visibility static $name: $crate::fiber::LocalKey<$type> = $crate::fiber::LocalKey::new(|| $init);)+
    };
}
