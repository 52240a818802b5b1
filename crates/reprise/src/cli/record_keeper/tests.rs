//! A long import lets others have their turn.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use reprise_store::Verify;
use reprise_types::{MemoryKind, MemorySource};

use super::*;
use crate::cli::store::Access;
use crate::config::Config;
use crate::env::Places;

fn context(folder: &Path) -> Context {
    let below = |name: &str| Some(folder.join(name));
    let places = Places::new(below("data"), below("models"), below("reprise.toml")).unwrap();
    Context {
        config: Config::read(&places.config, false).unwrap(),
        remote: None,
        places,
        json: false,
        no_model: true,
        is_config_named: false,
        is_models_dir_named: false,
        no_daemon: true,
        patience: Duration::ZERO,
        config_fault: None,
        environment_fault: None,
    }
}

#[test]
fn others_have_their_turn_between_two_groups_of_an_import() {
    let folder = tempfile::tempdir().unwrap();
    let (context, user) = (context(folder.path()), "ada".parse().unwrap());
    let how = IngestOptions {
        update: false,
        verbatim: false,
        later: false,
    };
    let mut keeper = RecordKeeper::new(&context, &user, how, Duration::ZERO).unwrap();
    keeper.hold = Some(Duration::ZERO);
    let count = || {
        let opened = store::open(&context, &user, Access::Write, Verify::Tail);
        let (engine, _) = opened.expect("the import has given the memory back");
        let count = engine.snapshot().log_reader().record_count();
        engine.close().unwrap();
        count
    };
    for (before, text) in ["one", "two", "three"].into_iter().enumerate() {
        let record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding);
        keeper.keep(vec![((), record)]).unwrap();
        assert_eq!(count() as usize, before + 1);
    }
    keeper.close().unwrap();
    assert_eq!(count(), 3);
}

#[test]
fn no_thread_opens_its_model_any_more_when_a_command_ends() {
    let opening = Arc::new(AtomicU32::new(0));
    let (began, begun) = mpsc::channel();
    let of_threads = Arc::clone(&opening);
    let open: EmbedderOpener = Arc::new(move || {
        of_threads.fetch_add(1, Ordering::SeqCst);
        began.send(()).unwrap();
        thread::sleep(Duration::from_millis(200));
        of_threads.fetch_sub(1, Ordering::SeqCst);
        let message = "none".to_owned();
        Err(EmbedError::Unavailable { message })
    });
    let embedders = EmbedderThreads::from_opener(open).unwrap();
    begun.recv().unwrap();
    drop(embedders);
    assert_eq!(opening.load(Ordering::SeqCst), 0);
}
