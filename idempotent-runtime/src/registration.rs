//! What a handler's `register! { … }` becomes. The attribute is compiled without knowing this crate's features, so it always
//! writes one, and here is decided what it is.

/// Nothing: no code, no item, no cost.
#[cfg(not(feature = "registry"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    ($($handler:tt)*) => {};
}

/// A static with the handler's description, which is in the registry before `main` begins.
///
/// `line!` and `file!` are those of the attribute, or of the macro that wrote it.
#[cfg(feature = "registry")]
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    ($function:literal, $prefix:literal $(, $step:literal)?, [$($key:literal),*], $ttl:literal) => {
        $crate::__private::submit! {
            $crate::__private::Registered::new($prefix, &[$($key),*], $ttl)
                .at($function, ::core::module_path!(), ::core::file!(), ::core::line!())
                $(.of_step($step))?
        }
    };
}
