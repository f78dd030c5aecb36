//! The live view of a program that was built without it.

/// What settings ask for.
pub(crate) mod asked {
    use crate::inspect::token::Token;
    use crate::spawn::Handle;
    use std::io;
    use std::net::SocketAddr;

    /// What the settings say of the live view.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Asked {
        pub(crate) address: SocketAddr,
        pub(crate) token: Option<Token>,
        pub(crate) by_builder: bool,
    }

    /// Nothing is served.
    #[derive(Debug)]
    pub(crate) struct Serving;

    impl Asked {
        /// Says that it can't be: only the environment can have asked, and the program did not mean it.
        pub(crate) fn serve(&self, _runtime: &Handle) -> io::Result<Option<Serving>> {
            eprintln!(
                "sisal: SISAL_SERVE={}: this program was built without sisal's feature `serve`, and nothing is served",
                self.address
            );
            Ok(None)
        }
    }
}
