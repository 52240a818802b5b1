//! `Debug` for what holds things that cannot be shown, or must not be; what a panic leaves behind.

use std::any::Any;

/// Implements `Debug` by the fields that are named.
#[macro_export]
macro_rules! show_fields {
    ($name:ident $(<$life:lifetime>)? { $($field:ident),* }) => {
        impl ::std::fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    };
}

/// The value behind a lock, also where whoever held it panicked: what is locked here is whole at
/// every moment.
pub fn lock<T: ?Sized>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What a panic said.
pub fn panic_words(payload: &(dyn Any + Send)) -> &str {
    let words = payload.downcast_ref::<&str>().copied();
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    words.or_else(owned).unwrap_or("no message")
}
