//! Bulkheads as written.

use crate::policy::limiter::BulkheadConfig;
use crate::policy::stack::Scope;
use crate::policy::stack::Scoped;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::policies::MOST_CALLS;
use crate::scenario::file::policies::read_per;
use crate::scenario::node::Node;
use crate::scenario::reader;

pub(super) fn read_bulkhead(
    node: &Node,
    problems: &mut Problems,
) -> Option<Scoped<BulkheadConfig>> {
    let mut fields = Fields::open(node, "`bulkhead`", problems)?;
    let help = "how many may be under way at once";
    let limit = fields.need("limit", help, problems, reader::count(1, MOST_CALLS));
    let queue = fields.get("queue", problems, reader::count(0, MOST_CALLS));
    let per = fields.get("per", problems, read_per);
    fields.close(problems);
    let queue = queue.map_or(defaults::BULKHEAD_QUEUE, |queue| queue.value);
    let config = BulkheadConfig { limit: limit?.value, queue };
    Some(Scoped { config, per: per.map_or(Scope::DEFAULT, |per| per.value) })
}
