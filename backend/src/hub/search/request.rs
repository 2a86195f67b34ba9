//! The parameters of a search, checked.

use watchscope_model::{EpochId, Seq};
use watchscope_search::Query;

use super::source::{is_position_kept, kept_from};
use crate::hub::api::{SearchError, SearchRequest};
use crate::hub::position::split_position;
use crate::log::LogHandle;

/// Returns the query, and the position before which the search begins.
pub(super) fn read(
    log: &LogHandle,
    request: &SearchRequest,
) -> Result<(Query, (EpochId, Seq)), SearchError> {
    let query = Query::parse(&request.query)?;
    if let Some(asked) = &request.log
        && asked != log.log().as_str()
    {
        return Err(SearchError::UnknownLog {
            asked: asked.clone(),
            known: log.log().clone(),
        });
    }
    let from = match &request.before {
        Some(text) => before(log, text)?,
        None => (
            log.epoch().clone(),
            log.with_ring(|ring| ring.head()).next(),
        ),
    };
    Ok((query, from))
}

fn before(log: &LogHandle, text: &str) -> Result<(EpochId, Seq), SearchError> {
    let bad = || SearchError::BadPosition {
        position: text.to_owned(),
    };
    let (epoch, seq) = split_position(text).ok_or_else(bad)?;
    let epoch = EpochId::from(epoch);
    let next = log.with_ring(|ring| ring.head()).next();
    if epoch == *log.epoch() && seq > next {
        return Err(bad());
    }
    match kept_from(log) {
        Some(from) if !is_position_kept(log, &epoch, seq, &from) => {
            Err(SearchError::NotKept { from })
        }
        _ => Ok((epoch, seq)),
    }
}
