//! A model as the engine reads it: flat tables by index, the layers of each edge in order.
//!
//! A run has one plan for the model it starts with, and one more for each `set` of the operator.
//! A call keeps the plan under which it began, so a change meets new calls and leaves those under
//! way alone, as reloading a configuration does.

mod layout;

use crate::engine::calendar::Calendar;
use crate::engine::calendar::RingId;
use crate::engine::caller::MOST_TRIES;
use crate::engine::life::LONGEST_CHAIN;
pub(super) use crate::engine::plan::layout::Layout;
pub(super) use crate::engine::plan::layout::Shared;
use crate::engine::plan::layout::Site;
use crate::engine::plan::layout::Whose;
use crate::engine::plan::layout::caller_group;
use crate::policy::backoff::Backoff;
use crate::policy::breaker::BreakerConfig;
use crate::policy::budget::BudgetConfig;
use crate::policy::budget::elapsed::ElapsedLimit;
use crate::policy::ejection::EjectionConfig;
use crate::policy::ejection::EjectionKind;
use crate::policy::hedge::HedgeConfig;
use crate::policy::hedge::HedgeDelay;
use crate::policy::hedge::latency::PercentileConfig;
use crate::policy::hint::HintConfig;
use crate::policy::limiter::BulkheadConfig;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::AttemptTimeout;
use crate::policy::stack::Hedging;
use crate::policy::stack::Layer;
use crate::policy::stack::Retry;
use crate::policy::stack::Scoped;
use crate::policy::stack::TimeoutRule;
use crate::policy::stack::TimeoutScope;
use crate::policy::throttle::ThrottleConfig;
use crate::random::Distribution;
use crate::scenario::model::Deed;
use crate::scenario::model::Deferred;
use crate::scenario::model::Edge;
use crate::scenario::model::Model;
use crate::units::Duration;
use crate::units::Share;

/// A model as the engine reads it.
pub(super) struct Plan<'m> {
    pub(super) model: &'m Model,
    pub(super) edges: Vec<EdgePlan>,
    /// How many states the budgets, breakers and bulkheads need. Plans with equal layouts share
    /// their states.
    pub(super) layout: Layout,
    /// Which of the sets of states these are.
    pub(super) states: usize,
    /// Does any policy need what a call remembers beside its record?
    pub(super) remembers: bool,
}

/// An edge as the engine reads it.
pub(super) struct EdgePlan {
    /// Its place in the model.
    pub(super) index: usize,
    /// Which set of states its strategies use.
    pub(super) states: usize,
    pub(super) target: usize,
    pub(super) replicas: u32,
    pub(super) latency: Distribution,
    /// The latency where it is always the same.
    pub(super) constant_latency: Option<Duration>,
    pub(super) loss: Option<Share>,
    /// Outermost first.
    pub(super) layers: Vec<Layer>,
    /// Nothing but a retry without a budget, and an attempt timeout: the usual case.
    pub(super) is_plain: bool,
    /// The number of the try with which a call sets out: a retry layer that is still to be walked
    /// counts the first.
    pub(super) tries_at_start: u32,
    /// Where the retry layer and the attempt timeout stand among them.
    pub(super) retry_at: usize,
    pub(super) attempt_timeout_at: usize,
    pub(super) retry: Option<RetryPlan>,
    pub(super) attempt_timeout: Option<AttemptTimeout>,
    /// Where timeouts of constant length wait.
    pub(super) ring: RingId,
    pub(super) constant_timeout: Option<Duration>,
    pub(super) patience: bool,
    pub(super) timeout: Duration,
    /// Does a budget want to hear of every attempt sent?
    pub(super) hears_attempts: bool,
    pub(super) throttle: Option<Shared<ThrottleConfig>>,
    pub(super) timeout_rule: TimeoutRule,
    pub(super) breaker: Option<Shared<BreakerConfig>>,
    pub(super) bulkhead: Option<Shared<BulkheadConfig>>,
    /// The attempts are submits, whose results come later.
    pub(super) deferred: Option<Box<Deferred>>,
    /// Which replicas are left out; only where attempts are sent.
    pub(super) ejection: Option<Shared<EjectionConfig>>,
    /// How deep it stands inside others: 0 for the outermost.
    pub(super) depth: usize,
    /// What each attempt goes through further in: the layers inside a hedge, or another policy.
    /// Each is a call of its own then, and the layers here are those around it.
    pub(super) inside: Option<Box<Self>>,
    /// How many of these calls there are at a time, where it is more than one.
    pub(super) hedge: Option<HedgePlan>,
}

/// When and how often an attempt gets company.
pub(super) struct HedgePlan {
    pub(super) config: HedgeConfig,
    pub(super) backoff: Backoff,
    pub(super) obeys_hints: bool,
    pub(super) budget: Option<Shared<BudgetConfig>>,
    /// What is known of latencies, where the delay depends on them.
    pub(super) latencies: Option<Shared<PercentileConfig>>,
}

/// When and how often a call is tried again.
pub(super) struct RetryPlan {
    pub(super) max_attempts: u32,
    pub(super) on: ClassSet,
    pub(super) backoff: Backoff,
    pub(super) hint: HintConfig,
    /// The wait depends on more than the call's own tries: a call remembers its past.
    pub(super) remembers: bool,
    /// The waits are the same for everybody.
    pub(super) rigid: bool,
    /// The windows before the first retries, where they depend on the retry alone.
    pub(super) windows: Vec<Duration>,
    pub(super) budget: Option<Shared<BudgetConfig>>,
    pub(super) max_elapsed: Option<ElapsedLimit>,
    /// Is there anything but attempts and time that a retry depends on?
    pub(super) is_bounded: bool,
}

impl<'m> Plan<'m> {
    /// The plan of a model.
    pub(super) fn new(model: &'m Model) -> Self {
        let mut layout = Layout::default();
        let edges: Vec<_> = model
            .edges
            .iter()
            .enumerate()
            .map(|(index, edge)| EdgePlan::new(index, edge, model, &mut layout))
            .collect();
        let remembers = edges.iter().flat_map(EdgePlan::segments).any(|edge| {
            edge.breaker.is_some()
                || edge.hedge.is_some()
                || edge.throttle.is_some()
                || edge.timeout != Duration::MAX
                || edge.ejection.is_some()
                || edge.bulkhead.is_some_and(|bulkhead| bulkhead.config.adapts.is_some())
                || edge.retry.as_ref().is_some_and(|retry| {
                    // So many tries could follow one another without a step in time.
                    retry.remembers
                        || retry.max_elapsed.is_some()
                        || retry.budget.as_ref().is_some_and(|it| it.config.keeps_tabs())
                        || retry.max_attempts > u32::from(LONGEST_CHAIN)
                })
        });
        Self { model, edges, layout, states: 0, remembers }
    }

    /// Has any population a deadline?
    pub(super) fn has_deadlines(&self) -> bool {
        self.model.populations.iter().any(|population| population.deadline.is_some())
    }

    /// Does any timeout end when a worker takes the attempt up?
    pub(super) fn has_patience(&self) -> bool {
        self.edges.iter().flat_map(EdgePlan::segments).any(|edge| edge.patience)
    }

    /// The rings that its timeouts of constant length need.
    pub(super) fn rings(&self) -> usize {
        let depth = self.edges.iter().flat_map(EdgePlan::segments).map(|edge| edge.depth).max();
        self.edges.len() * (depth.unwrap_or(0) + 1)
    }

    /// How many instances the callers along an edge are.
    pub(super) fn instances(&self, edge: usize) -> usize {
        caller_group(self.model.edges[edge].caller, self.model).1
    }

    /// The plans of a run: of the model itself, then of each `set`, in the order of actions.
    pub(super) fn all(model: &'m Model) -> Vec<Self> {
        let changed = model.operator.iter().filter_map(|action| match &action.what {
            Deed::Set { model, .. } => Some(Self::new(model)),
            _ => None,
        });
        let mut plans: Vec<_> = std::iter::once(Self::new(model)).chain(changed).collect();
        share_states(&mut plans);
        plans
    }
}

impl EdgePlan {
    fn new(index: usize, edge: &Edge, model: &Model, layout: &mut Layout) -> Self {
        let policy = &model.policies[edge.policy];
        Self::of_policy(&Site { model, index, edge, policy, depth: 0 }, layout)
    }

    /// A policy, in as many parts as its calls are made of: up to a hedge, from there on, and the
    /// policy inside it.
    fn of_policy(site: &Site, layout: &mut Layout) -> Self {
        let policy = site.policy;
        let hedge = policy.hedge.as_ref().zip(position(&policy.order, Layer::Hedge));
        let deeper = 1 + usize::from(hedge.is_some());
        let inner = policy.inner.as_deref().map(|policy| {
            let site = Site { policy, depth: site.depth + deeper, ..*site };
            Box::new(Self::of_policy(&site, layout))
        });
        let Some((hedge, at)) = hedge else {
            return Self::of_layers(site, &policy.order, inner, None, layout);
        };
        let below = Site { depth: site.depth + 1, ..*site };
        let below = Self::of_layers(&below, &policy.order[at + 1..], inner, None, layout);
        let hedge = HedgePlan::new(hedge, site, layout);
        let above = &policy.order[..at];
        Self::of_layers(site, above, Some(Box::new(below)), Some(hedge), layout)
    }

    /// Some layers of a policy, outermost first.
    fn of_layers(
        site: &Site,
        layers: &[Layer],
        inside: Option<Box<Self>>,
        hedge: Option<HedgePlan>,
        layout: &mut Layout,
    ) -> Self {
        let Site { model, index, edge, policy, depth } = *site;
        let has = |layer| layers.contains(&layer);
        let whose = Whose::Other;
        let retry = policy.retry.as_ref().filter(|_| has(Layer::Retry)).map(|retry| RetryPlan {
            max_attempts: retry.max_attempts.unwrap_or(MOST_TRIES).min(MOST_TRIES),
            on: retry.hint.retried(retry.on, model.services[edge.target].hinted()),
            backoff: retry.backoff.clone(),
            hint: retry.hint,
            remembers: retry.backoff.remembers() || retry.hint.remembers(),
            rigid: !retry.backoff.is_random(),
            windows: windows(retry),
            budget: retry.budget.map(|budget| layout.budgets.place(budget, whose, site)),
            max_elapsed: retry.max_elapsed,
            is_bounded: retry.budget.is_some() || retry.max_elapsed.is_some(),
        });
        let timeout = policy.attempt_timeout.clone().filter(|_| has(Layer::AttemptTimeout));
        let whole = policy.timeout.filter(|_| has(Layer::Timeout)).unwrap_or(Duration::MAX);
        let throttle = policy.throttle.filter(|_| has(Layer::Throttle));
        let breaker = policy.breaker.filter(|_| has(Layer::Breaker));
        let bulkhead = policy.bulkhead.filter(|_| has(Layer::Bulkhead));
        let ejection = policy.ejection.filter(|_| inside.is_none());
        // A timeout for ever is none.
        let for_ever = |layer: &Layer| *layer == Layer::Timeout && whole == Duration::MAX;
        let layers: Vec<_> = layers.iter().copied().filter(|layer| !for_ever(layer)).collect();
        let is_plain = inside.is_none()
            && ejection.is_none()
            && retry.as_ref().is_none_or(|retry: &RetryPlan| !retry.is_bounded)
            && layers.iter().all(|l| matches!(l, Layer::Retry | Layer::AttemptTimeout));
        Self {
            index,
            states: 0,
            target: edge.target,
            replicas: model.services[edge.target].replicas,
            latency: edge.link.latency.clone(),
            constant_latency: edge.link.latency.as_constant(),
            loss: (edge.link.loss != Share::ZERO).then_some(edge.link.loss),
            is_plain,
            tries_at_start: u32::from(is_plain || retry.is_none()),
            retry_at: position(&layers, Layer::Retry).unwrap_or(0),
            attempt_timeout_at: position(&layers, Layer::AttemptTimeout).unwrap_or(layers.len()),
            hears_attempts: retry.as_ref().is_some_and(|retry| {
                retry.budget.as_ref().is_some_and(|it| it.config.hears_attempts())
            }),
            layers,
            retry,
            constant_timeout: timeout.as_ref().and_then(AttemptTimeout::as_constant),
            patience: timeout.as_ref().is_some_and(|timeout| timeout.scope == TimeoutScope::Queue),
            attempt_timeout: timeout,
            ring: Calendar::ring(depth * model.edges.len() + index),
            timeout: whole,
            throttle: throttle.map(|it| layout.throttles.place(it, whose, site)),
            timeout_rule: policy.timeout_rule,
            breaker: breaker.map(|it| layout.breakers.place(it, whose, site)),
            bulkhead: bulkhead.map(|it| layout.bulkheads.place(it, whose, site)),
            ejection: ejection.map(|it| {
                let whose = match it.config.kind {
                    EjectionKind::Outlier(_) => Whose::Outliers,
                    EjectionKind::Breaker(_) => Whose::Other,
                };
                layout.ejections.place(it, whose, site)
            }),
            deferred: edge.deferred.clone().map(Box::new),
            depth,
            inside,
            hedge,
        }
    }

    /// This part of the policy and those inside it, outermost first.
    pub(super) fn segments(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |edge| edge.inside.as_deref())
    }

    /// All parts use this set of states.
    fn use_states(&mut self, states: usize) {
        self.states = states;
        if let Some(inside) = &mut self.inside {
            inside.use_states(states);
        }
    }

    /// The budget of its retries.
    #[inline(always)]
    pub(super) fn budget(&self) -> Option<&Shared<BudgetConfig>> {
        self.retry.as_ref()?.budget.as_ref()
    }

    /// Where a layer stands; beyond all of them where there is none.
    pub(super) fn position(&self, layer: Layer) -> usize {
        position(&self.layers, layer).unwrap_or(self.layers.len())
    }
}

impl HedgePlan {
    fn new(hedge: &Hedging, site: &Site, layout: &mut Layout) -> Self {
        let latencies = match hedge.config.delay {
            HedgeDelay::AtPercentile(config) => Some(Scoped { config, per: hedge.per }),
            _ => None,
        };
        Self {
            config: hedge.config,
            backoff: hedge.backoff.clone(),
            obeys_hints: hedge.obeys_hints,
            budget: hedge.budget.map(|it| layout.budgets.place(it, Whose::Hedge, site)),
            latencies: latencies.map(|it| layout.latencies.place(it, Whose::Hedge, site)),
        }
    }
}

fn position(layers: &[Layer], layer: Layer) -> Option<usize> {
    layers.iter().position(|other| *other == layer)
}

/// Plans of equal layout use one set of states; the sets are numbered as they are first used.
fn share_states(plans: &mut [Plan]) {
    let mut sets = 0;
    for index in 0..plans.len() {
        let (before, rest) = plans.split_at_mut(index);
        let plan = &mut rest[0];
        let equal = before.iter().find(|other| other.layout == plan.layout);
        plan.states = equal.map_or(sets, |other| other.states);
        sets = sets.max(plan.states + 1);
        for edge in &mut plan.edges {
            edge.use_states(plan.states);
        }
    }
}

/// The windows of the first retries; none where a wait is decided by more than its window.
fn windows(retry: &Retry) -> Vec<Duration> {
    const KNOWN: u32 = 16;
    if !retry.backoff.is_simple() || retry.hint.listens() {
        return Vec::new();
    }
    (1..=KNOWN).map(|k| retry.backoff.window(k)).collect()
}
