//! Chains of links that packets traverse without an event in between.
//!
//! If all packets that leave a link go to one other link, and no other packets enter that one, a packet's
//! times on both links are known when it enters the first, because the queues are first in, first out.

use smallvec::{Array, SmallVec};

use crate::config::{NodeId, Routes};
use crate::link::{LinkConfig, LinkId};

/// A small set of links without heap allocation: a run without a shared prefix builds all this again, and
/// allocation would take most of the time.
type Few = SmallVec<[LinkId; 8]>;

/// The use of a link by the packets of all flows, under any of the routes.
#[derive(Default)]
struct Reached {
    /// The links that packets take next.
    onward: Few,
    /// The links that packets come from; none for an endpoint.
    feeders: SmallVec<[Option<LinkId>; 4]>,
    /// Packets end at its far end.
    ends: bool,
    /// How many flows use it; the two directions count as two.
    users: usize,
    /// The last pair of nodes whose path was followed over it, from 1.
    last_way: usize,
}

/// The same for each link.
struct Reach(Vec<Reached>);

/// Adds an item if it is not there yet; returns whether it was added.
fn insert<A: Array<Item: PartialEq>>(set: &mut SmallVec<A>, item: A::Item) -> bool {
    let new = !set.contains(&item);
    if new {
        set.push(item);
    }
    new
}

impl Reach {
    fn new(
        links: &[LinkConfig],
        routes: Routes,
        alternatives: Routes,
        flows: &[(NodeId, NodeId)],
    ) -> Self {
        let mut reach = Self(links.iter().map(|_| Reached::default()).collect());
        let ways = flows.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        for (ends, way) in ways.zip(1..) {
            reach.follow(links, [routes, alternatives], way, ends);
        }
        reach
    }

    /// Follows the packets from one node to another, under any of the routes. `way` numbers the pairs of
    /// nodes.
    fn follow(
        &mut self,
        links: &[LinkConfig],
        routes: [Routes; 2],
        way: usize,
        (from, to): (NodeId, NodeId),
    ) {
        let mut open: SmallVec<[(Option<LinkId>, NodeId); 8]> = SmallVec::new();
        open.push((None, from));
        while let Some((feeder, node)) = open.pop() {
            for routes in routes {
                for &(at, target, link) in routes {
                    if at != node || target != to {
                        continue;
                    }
                    if let Some(feeder) = feeder {
                        insert(&mut self.0[feeder.index()].onward, link);
                    }
                    let reached = &mut self.0[link.index()];
                    insert(&mut reached.feeders, feeder);
                    if std::mem::replace(&mut reached.last_way, way) == way {
                        continue;
                    }
                    reached.users += 1;
                    let next = links[link.index()].to;
                    if next == to {
                        reached.ends = true;
                    } else {
                        open.push((Some(link), next));
                    }
                }
            }
        }
    }
}

/// Where packets go after the far end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextHop {
    /// Always to this link, without an event.
    Chained(LinkId),
    /// To the link of their route. Without an event as long as routes do not change and no packet that
    /// could come first awaits an event.
    Routed,
    /// To no link, or to a link that other packets enter too: an event is needed.
    Event,
}

/// For each link, the next link of its packets and, if they are routed, the links on which no packet may
/// await an event: the link itself, and those that lead to the same node. A link that may break or has
/// impairments can end a chain but not be in the middle of it. A link that may pause, is counted, or has a
/// hook that sees its packets `in_order` is a chain by itself. Flows are pairs of nodes.
pub(crate) fn chains(
    links: &[LinkConfig],
    in_order: &[bool],
    routes: Routes,
    alternatives: Routes,
    flows: &[(NodeId, NodeId)],
) -> Vec<(NextHop, Vec<LinkId>)> {
    let reach = Reach::new(links, routes, alternatives, flows);
    let chain = |i: usize| match reach.onward_of(i, links, in_order) {
        NextHop::Routed => (NextHop::Routed, reach.rivals(i)),
        onward => (onward, Vec::new()),
    };
    let mut chains: Vec<(NextHop, Vec<LinkId>)> = (0..links.len()).map(chain).collect();
    // A rival on which every packet has an event is never guaranteed to be clear.
    loop {
        let is_unsure = |link: &LinkId| chains[link.index()].0 == NextHop::Event;
        let unsure = |(onward, rivals): &(NextHop, Vec<LinkId>)| {
            *onward == NextHop::Routed && rivals.iter().any(is_unsure)
        };
        let Some(next) = chains.iter().position(unsure) else {
            break;
        };
        chains[next].0 = NextHop::Event;
    }
    for (i, (onward, to_be_clear)) in chains.iter_mut().enumerate() {
        if *onward == NextHop::Routed {
            to_be_clear.push(LinkId(i as u16));
        }
    }
    chains
}

impl Reach {
    fn onward_of(&self, i: usize, links: &[LinkConfig], in_order: &[bool]) -> NextHop {
        let (link, reached) = (&links[i], &self.0[i]);
        let entered_on_the_way = reached.feeders.iter().any(Option::is_some);
        if reached.ends || link.is_special() || (link.may_break && entered_on_the_way) {
            return NextHop::Event;
        }
        // Packets that a pause holds or that are counted must not enter ahead of the present.
        if reached
            .onward
            .iter()
            .any(|next| in_order[next.index()] || links[next.index()].entered_by_event())
        {
            return NextHop::Event;
        }
        let this = Some(LinkId(i as u16));
        let fed_by_this_alone = |next: &LinkId| self.0[next.index()].feeders[..] == [this];
        let all_by_this_alone = reached.onward.iter().all(fed_by_this_alone);
        if let ([next], true) = (&reached.onward[..], all_by_this_alone) {
            return NextHop::Chained(*next);
        }
        // While routes do not change, the packets of one user come in the order in which they were sent.
        let in_order = |next: &LinkId| {
            let Reached { feeders, users, .. } = &self.0[next.index()];
            fed_by_this_alone(next) || (!feeders.contains(&None) && *users == 1)
        };
        if reached.onward.is_empty() || !reached.onward.iter().all(in_order) {
            return NextHop::Event;
        }
        NextHop::Routed
    }

    /// The other links over which packets reach the links that follow this one.
    fn rivals(&self, i: usize) -> Vec<LinkId> {
        let this = LinkId(i as u16);
        // With room for this link itself.
        let mut rivals = Vec::with_capacity(self.0[i].onward.len() + 1);
        let mut open = self.0[i].onward.clone();
        while let Some(link) = open.pop() {
            for &feeder in self.0[link.index()].feeders.iter().flatten() {
                if feeder != this && !rivals.contains(&feeder) {
                    rivals.push(feeder);
                    open.push(feeder);
                }
            }
        }
        rivals
    }
}
