//! A red-black tree whose shape is that of the kernel's (lib/rbtree.c; Cormen et al., Introduction to Algorithms, chapter
//! 13). The receiver merges a packet only into those on the way to its place, so the shape matters.

/// The place of an item.
pub(super) type Place = usize;

/// A side of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

#[derive(Clone, Debug)]
struct Node<T> {
    item: T,
    children: [Option<Place>; 2],
    parent: Option<Place>,
    is_red: bool,
}

/// Items in order. The caller finds the place of a new one.
#[derive(Clone, Debug)]
pub(super) struct Tree<T> {
    nodes: Vec<Node<T>>,
    /// Unused nodes.
    free: Vec<Place>,
    root: Option<Place>,
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            free: Vec::new(),
            root: None,
        }
    }
}

impl<T> Tree<T> {
    pub(super) fn root(&self) -> Option<Place> {
        self.root
    }

    pub(super) fn get(&self, at: Place) -> &T {
        &self.nodes[at].item
    }

    pub(super) fn get_mut(&mut self, at: Place) -> &mut T {
        &mut self.nodes[at].item
    }

    pub(super) fn child(&self, at: Place, side: Side) -> Option<Place> {
        self.nodes[at].children[side as usize]
    }

    /// The first item in order.
    pub(super) fn first(&self) -> Option<Place> {
        self.root.map(|root| self.outermost(root, Side::Left))
    }

    /// The item after this one.
    pub(super) fn next(&self, mut at: Place) -> Option<Place> {
        if let Some(right) = self.child(at, Side::Right) {
            return Some(self.outermost(right, Side::Left));
        }
        while let Some(parent) = self.nodes[at].parent {
            if self.child(parent, Side::Left) == Some(at) {
                return Some(parent);
            }
            at = parent;
        }
        None
    }

    fn outermost(&self, mut at: Place, side: Side) -> Place {
        while let Some(child) = self.child(at, side) {
            at = child;
        }
        at
    }

    fn is_red(&self, at: Option<Place>) -> bool {
        at.is_some_and(|at| self.nodes[at].is_red)
    }

    fn side_of(&self, parent: Place, child: Place) -> Side {
        if self.child(parent, Side::Left) == Some(child) {
            Side::Left
        } else {
            Side::Right
        }
    }

    /// Puts `child` where `at` is below its parent.
    fn put(&mut self, parent: Option<Place>, at: Place, child: Option<Place>) {
        match parent {
            Some(parent) => {
                let side = self.side_of(parent, at);
                self.nodes[parent].children[side as usize] = child;
            }
            None => self.root = child,
        }
        if let Some(child) = child {
            self.nodes[child].parent = parent;
        }
    }

    /// Rotates to this side: the child of the other side takes the place of the node.
    fn rotate(&mut self, at: Place, side: Side) {
        let other = side.other();
        let Some(child) = self.child(at, other) else {
            return;
        };
        let inner = self.child(child, side);
        let parent = self.nodes[at].parent;
        self.put(parent, at, Some(child));
        self.nodes[child].children[side as usize] = Some(at);
        self.nodes[at].parent = Some(child);
        self.nodes[at].children[other as usize] = inner;
        if let Some(inner) = inner {
            self.nodes[inner].parent = Some(at);
        }
    }

    /// Inserts an item on a free side of a node, or as the only one (rb_link_node(), rb_insert_color()).
    pub(super) fn insert(&mut self, below: Option<(Place, Side)>, item: T) -> Place {
        let node = Node {
            item,
            children: [None; 2],
            parent: below.map(|(parent, _)| parent),
            is_red: true,
        };
        let at = if let Some(at) = self.free.pop() {
            self.nodes[at] = node;
            at
        } else {
            self.nodes.push(node);
            self.nodes.len() - 1
        };
        match below {
            Some((parent, side)) => self.nodes[parent].children[side as usize] = Some(at),
            None => self.root = Some(at),
        }
        self.balance_after_insert(at);
        at
    }

    fn balance_after_insert(&mut self, mut at: Place) {
        while let Some(mut parent) = self.nodes[at].parent.filter(|&p| self.nodes[p].is_red) {
            let Some(grandparent) = self.nodes[parent].parent else {
                break;
            };
            let side = self.side_of(grandparent, parent);
            let uncle = self.child(grandparent, side.other());
            if let Some(uncle) = uncle.filter(|&uncle| self.nodes[uncle].is_red) {
                self.nodes[parent].is_red = false;
                self.nodes[uncle].is_red = false;
                self.nodes[grandparent].is_red = true;
                at = grandparent;
                continue;
            }
            if self.child(parent, side.other()) == Some(at) {
                self.rotate(parent, side);
                parent = at;
            }
            self.nodes[parent].is_red = false;
            self.nodes[grandparent].is_red = true;
            self.rotate(grandparent, side.other());
            break;
        }
        if let Some(root) = self.root {
            self.nodes[root].is_red = false;
        }
    }

    /// Removes an item (rb_erase()). The places of the others remain.
    pub(super) fn remove(&mut self, at: Place) {
        let [left, right] = self.nodes[at].children;
        let parent = self.nodes[at].parent;
        let was_red;
        // The node that moved up, and its parent.
        let (child, above);
        match (left, right) {
            (Some(left), Some(right)) => {
                let successor = self.outermost(right, Side::Left);
                was_red = self.nodes[successor].is_red;
                child = self.child(successor, Side::Right);
                if successor == right {
                    above = Some(successor);
                } else {
                    above = self.nodes[successor].parent;
                    self.put(above, successor, child);
                    self.nodes[successor].children[Side::Right as usize] = Some(right);
                    self.nodes[right].parent = Some(successor);
                }
                self.put(parent, at, Some(successor));
                self.nodes[successor].children[Side::Left as usize] = Some(left);
                self.nodes[left].parent = Some(successor);
                self.nodes[successor].is_red = self.nodes[at].is_red;
            }
            (left, right) => {
                was_red = self.nodes[at].is_red;
                child = left.or(right);
                above = parent;
                self.put(parent, at, child);
            }
        }
        self.free.push(at);
        if !was_red {
            self.balance_after_remove(child, above);
        }
    }

    fn balance_after_remove(&mut self, mut at: Option<Place>, mut above: Option<Place>) {
        while let Some(parent) = above.filter(|_| !self.is_red(at)) {
            let side = if self.child(parent, Side::Left) == at {
                Side::Left
            } else {
                Side::Right
            };
            let other = side.other();
            let Some(mut sibling) = self.child(parent, other) else {
                break;
            };
            if self.nodes[sibling].is_red {
                self.nodes[sibling].is_red = false;
                self.nodes[parent].is_red = true;
                self.rotate(parent, side);
                let Some(next) = self.child(parent, other) else {
                    break;
                };
                sibling = next;
            }
            if !self.is_red(self.child(sibling, other)) {
                let Some(inner) = self.child(sibling, side).filter(|&i| self.nodes[i].is_red)
                else {
                    self.nodes[sibling].is_red = true;
                    at = Some(parent);
                    above = self.nodes[parent].parent;
                    continue;
                };
                self.nodes[inner].is_red = false;
                self.nodes[sibling].is_red = true;
                self.rotate(sibling, other);
                sibling = inner;
            }
            self.nodes[sibling].is_red = self.nodes[parent].is_red;
            self.nodes[parent].is_red = false;
            if let Some(outer) = self.child(sibling, other) {
                self.nodes[outer].is_red = false;
            }
            self.rotate(parent, side);
            return;
        }
        if let Some(at) = at {
            self.nodes[at].is_red = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Tree<u32> {
        fn add(&mut self, item: u32) {
            let mut below = None;
            let mut at = self.root();
            while let Some(place) = at {
                let side = if item < *self.get(place) {
                    Side::Left
                } else {
                    Side::Right
                };
                below = Some((place, side));
                at = self.child(place, side);
            }
            self.insert(below, item);
        }

        fn take(&mut self, item: u32) {
            let mut at = self.first();
            while let Some(place) = at {
                if *self.get(place) == item {
                    return self.remove(place);
                }
                at = self.next(place);
            }
        }

        fn items(&self) -> Vec<u32> {
            std::iter::successors(self.first(), |&at| self.next(at))
                .map(|at| *self.get(at))
                .collect()
        }

        /// The subtree as text; a red node has an asterisk.
        fn shape(&self, at: Option<Place>) -> String {
            let Some(at) = at else {
                return "-".into();
            };
            let mark = if self.nodes[at].is_red { "*" } else { "" };
            let [left, right] = self.nodes[at].children;
            if left.is_none() && right.is_none() {
                return format!("{}{mark}", self.get(at));
            }
            let (left, right) = (self.shape(left), self.shape(right));
            format!("({left} {}{mark} {right})", self.get(at))
        }

        /// Checks the parents and the colours; returns how many black nodes each path has.
        fn check(&self, at: Option<Place>, parent: Option<Place>) -> usize {
            let Some(at) = at else {
                return 1;
            };
            let node = &self.nodes[at];
            assert_eq!(node.parent, parent);
            assert!(!(node.is_red && self.is_red(parent)), "two red nodes");
            let [left, right] = node.children.map(|child| self.check(child, Some(at)));
            assert_eq!(left, right, "black nodes");
            left + usize::from(!node.is_red)
        }
    }

    /// By hand, after the figures of Cormen et al.: the third item rotates, the fourth recolours, and so on.
    #[test]
    fn items_in_order_give_the_tree_of_the_textbook() {
        let mut tree = Tree::default();
        for item in 1..=8 {
            tree.add(item);
        }
        let shape = tree.shape(tree.root());
        assert_eq!(shape, "((1 2* 3) 4 (5 6* (- 7 8*)))");
        // A black leaf whose sibling is black and has a red child outside.
        tree.take(5);
        let shape = tree.shape(tree.root());
        assert_eq!(shape, "((1 2* 3) 4 (6 7* 8))");
        // A black leaf whose sibling has no red child: both levels change colours.
        tree.take(1);
        let shape = tree.shape(tree.root());
        assert_eq!(shape, "((- 2 3*) 4 (6 7* 8))");
        // A node with two children is replaced by the next item.
        tree.take(4);
        let shape = tree.shape(tree.root());
        assert_eq!(shape, "((- 2 3*) 6 (- 7 8*))");
    }

    proptest! {
        #[test]
        fn it_stays_in_order_and_balanced(steps in prop::collection::vec((0_u32..40, any::<bool>()), 0..200)) {
            let mut tree = Tree::default();
            let mut expected = std::collections::BTreeSet::new();
            for (item, adds) in steps {
                if adds && expected.insert(item) {
                    tree.add(item);
                } else if !adds && expected.remove(&item) {
                    tree.take(item);
                }
                tree.check(tree.root(), None);
                prop_assert!(!tree.is_red(tree.root()));
                prop_assert_eq!(tree.items(), expected.iter().copied().collect::<Vec<_>>());
            }
        }
    }
}
