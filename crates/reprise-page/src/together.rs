//! Two things that are waited for at once.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// What both answer.
pub(crate) async fn both<A, B>(
    one: impl Future<Output = A>,
    other: impl Future<Output = B>,
) -> (A, B) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let (mut first, mut second) = (None, None);
    poll_fn(|context| {
        advance(&mut first, one.as_mut(), context);
        advance(&mut second, other.as_mut(), context);
        match (first.take(), second.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            waiting => {
                (first, second) = waiting;
                Poll::Pending
            }
        }
    })
    .await
}

fn advance<T>(
    answer: &mut Option<T>,
    future: Pin<&mut impl Future<Output = T>>,
    context: &mut Context<'_>,
) {
    if answer.is_none()
        && let Poll::Ready(ready) = future.poll(context)
    {
        *answer = Some(ready);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::task::Waker;

    #[test]
    fn neither_waits_for_the_other() {
        let polls = Cell::new((0, 0));
        let one = poll_fn(|_| {
            polls.set((polls.get().0 + 1, polls.get().1));
            Poll::Ready("one")
        });
        let other = poll_fn(|_| {
            polls.set((polls.get().0, polls.get().1 + 1));
            if polls.get().1 < 3 {
                return Poll::Pending;
            }
            Poll::Ready("other")
        });
        let mut answer = pin!(both(one, other));
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(answer.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(answer.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(
            answer.as_mut().poll(&mut context),
            Poll::Ready(("one", "other"))
        );
        assert_eq!(polls.get(), (1, 3), "what has answered is not asked again");
    }
}
