//! ralph's frames: a JSON object a line, as its memory store writes them beside the `.mv2` file.

use std::path::Path;

use super::give::Giver;
use crate::error::ImportError;
use crate::lines::object;
use crate::observation::frame;

pub(super) fn read(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    giver.lines(path, |giver, place, line| {
        let zone = giver.zone();
        let read = object(line).and_then(|object| frame(object, zone));
        let (record, related) = match read {
            Ok(read) => read,
            Err(why) => return giver.refuse(place, why),
        };
        if let Some(own) = record.external_ids.first().cloned() {
            for other in related {
                giver.link(place, own.clone(), other, "related_to");
            }
        }
        giver.record(place, record)
    })
}
