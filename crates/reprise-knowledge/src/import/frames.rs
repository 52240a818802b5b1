//! ralph's frames: a JSON object a line, as its memory store writes them beside the `.mv2` file.

use crate::observation::{frame, frame_of};
use crate::prelude::*;

pub(super) fn read(path: &Path, giver: &mut Giver<'_>) -> Result<(), ImportError> {
    giver.objects(path, |giver, place, mut object| {
        let carried = Carried::take(&mut object).map(|carried| {
            let is_unchanged = is_of(&object, &carried);
            (carried, is_unchanged)
        });
        let (record, related) = match frame(object, giver.zone()) {
            Ok(read) => read,
            Err(why) => return giver.refuse(place, why),
        };
        if let Some(carried) = carried.and_then(|both| giver.unchanged(both, &record)) {
            return giver.own(place, carried);
        }
        if let Some(own) = record.external_ids.first().cloned() {
            for other in related {
                giver.link(place, own.clone(), other, "related_to");
            }
        }
        giver.record(place, record)
    })
}

/// Whether a frame says what its record said when it was exported. What it is related to stands in
/// the record's links.
fn is_of(frame: &Map<String, Value>, carried: &Carried) -> bool {
    let alone = |mut frame: Value| {
        let metadata = frame.get_mut("metadata").and_then(Value::as_object_mut);
        let _related = metadata.and_then(|metadata| metadata.remove("related_ids"));
        frame
    };
    alone(Value::Object(frame.clone())) == alone(frame_of(&carried.record))
}
