//! `Debug` for types with fields that cannot or must not be shown, and helpers for code that may
//! panic: locks, messages, and work that is returned.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Implements `Debug` for a type with the listed fields only.
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

/// Locks a mutex, also if a thread panicked while it had the lock: the values that are locked here
/// are consistent at every moment.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the message of a panic.
pub fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let words = payload.downcast_ref::<&str>().copied();
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    words.or_else(owned).unwrap_or("no message")
}

/// Passes work to `spawn`, which may panic if it gets no thread.
///
/// # Errors
///
/// Returns the work if `spawn` panicked. It has not begun then, and `spawn` cannot run it later if
/// it stored the closure.
pub fn spawn_or_return<W>(work: W, spawn: impl FnOnce(Box<dyn FnOnce() + Send>)) -> Result<(), W>
where
    W: FnOnce() + Send + 'static,
{
    let slot = Arc::new(Mutex::new(Some(work)));
    let shared_slot = Arc::clone(&slot);
    let run = move || {
        let work = lock(&shared_slot).take();
        if let Some(work) = work {
            work();
        }
    };
    let panicked = catch_unwind(AssertUnwindSafe(|| spawn(Box::new(run)))).is_err();
    let returned = panicked.then(|| lock(&slot).take()).flatten();
    returned.map_or(Ok(()), Err)
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
        assert!(spawn_or_return(work(&done), |run| run()).is_ok());
        assert_eq!(done.load(SeqCst), 1);
        let queue = RefCell::new(Vec::new());
        let returned = spawn_or_return(work(&done), |run| {
            queue.borrow_mut().push(run);
            panic!("no thread, on purpose");
        });
        for run in queue.into_inner() {
            run();
        }
        assert_eq!(done.load(SeqCst), 1, "it came back");
        returned.expect_err("it was refused")();
        assert_eq!(done.load(SeqCst), 2);
    }
}
