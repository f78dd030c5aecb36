//! Asks the compiler whether a type has a trait, as a value that a test can look at.

/// Whether `Type` implements `Trait`: `implements!(u8: Send)`.
#[allow(unused_macros, reason = "each test file uses a part of what is here")]
macro_rules! implements {
    ($type:ty: $($bound:tt)+) => {{
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "not used for a type that has the trait")]
        trait Otherwise {
            const ANSWER: bool = false;
        }
        impl<T: ?Sized> Otherwise for Probe<T> {}
        #[allow(dead_code, reason = "not used for a type that lacks the trait")]
        impl<T: ?Sized + $($bound)+> Probe<T> {
            const ANSWER: bool = true;
        }
        <Probe<$type>>::ANSWER
    }};
}
#[allow(unused_imports, reason = "each test file uses a part of what is here")]
pub(crate) use implements;
