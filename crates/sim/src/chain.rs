//! Chains of links that packets pass without an event between.
//!
//! If all packets that leave a link go to one other link, and no other packets enter that one, a
//! packet's times on both are known when it enters the first, because the queues are first in,
//! first out.

use smallvec::{Array, SmallVec};

use crate::config::{NodeId, Routes};
use crate::link::{LinkConfig, LinkId};

/// A small set of links without heap memory: a run without a common beginning with others builds
/// all this again, and most of the time would be allocation.
type Few = SmallVec<[LinkId; 8]>;

/// What packets of all flows can do on a link under any of the routes.
#[derive(Default)]
struct Reached {
    /// The links that packets take next.
    onward: Few,
    /// The links that packets come from; none for an endpoint.
    feeders: SmallVec<[Option<LinkId>; 4]>,
    /// Packets end at its far end.
    ends: bool,
    /// How many flows use it; there and back count as two.
    users: usize,
    /// The last of the ways that were followed over it, from 1.
    last_way: usize,
}

/// The same of each link.
struct Reach(Vec<Reached>);

/// Adds an item that is not there yet; whether it was not.
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

    /// Follows what goes from a node to another, under any of the routes. `way` numbers the pairs of nodes.
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

/// Where packets go from the far end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextHop {
    /// Always to this link, without an event.
    Chained(LinkId),
    /// To the link of their route. Without an event as long as routes stay and
    /// no packet that could come first awaits an event.
    Routed,
    /// Nowhere, or to where others come from as well: an event awaits them.
    Event,
}

/// For each link the next link of its packets and, if they are routed, the links on which no packet
/// may await an event: itself, and those that lead to the same node. A link that may break can end
/// a chain but not be in the middle of it; so can one with impairments, and one that may pause or
/// is counted is its own chain, as is one whose packets a hook sees `in_order`. Flows are pairs of
/// nodes.
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
    // A rival where every packet has an event is never sure to be clear.
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
        // Packets that a pause holds or that are counted must not be ahead of the present.
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
        // While routes stay, the packets of one user come in the order in which they were sent.
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
        // Room for itself, too.
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
