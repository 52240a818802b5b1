//! `Debug` for what holds things that cannot be shown, or must not be; what a panic leaves behind,
//! and work that comes back from one.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a panic said.
pub fn panic_words(payload: &(dyn Any + Send)) -> &str {
    let words = payload.downcast_ref::<&str>().copied();
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    words.or_else(owned).unwrap_or("no message")
}

/// Hands work to `to`, which may panic where it gets no thread, and keep what it was given.
///
/// # Errors
///
/// The work, not begun and never to be, where `to` panicked.
pub fn handed_over<W>(work: W, to: impl FnOnce(Box<dyn FnOnce() + Send>)) -> Result<(), W>
where
    W: FnOnce() + Send + 'static,
{
    let kept = Arc::new(Mutex::new(Some(work)));
    let waiting = Arc::clone(&kept);
    let run = move || {
        let work = lock(&waiting).take();
        if let Some(work) = work {
            work();
        }
    };
    let refused = catch_unwind(AssertUnwindSafe(|| to(Box::new(run)))).is_err();
    let left = refused.then(|| lock(&kept).take()).flatten();
    left.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;

    #[test]
    fn work_that_was_refused_comes_back_and_is_not_done_by_who_kept_it() {
        let done = Arc::new(AtomicU32::new(0));
        let work = |done: &Arc<AtomicU32>| {
            let done = Arc::clone(done);
            move || {
                done.fetch_add(1, SeqCst);
            }
        };
        assert!(handed_over(work(&done), |run| run()).is_ok());
        assert_eq!(done.load(SeqCst), 1);
        let queue = RefCell::new(Vec::new());
        let left = handed_over(work(&done), |run| {
            queue.borrow_mut().push(run);
            panic!("no thread, on purpose");
        });
        for run in queue.into_inner() {
            run();
        }
        assert_eq!(done.load(SeqCst), 1, "it came back");
        left.expect_err("it was refused")();
        assert_eq!(done.load(SeqCst), 2);
    }
}
