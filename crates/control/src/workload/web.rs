//! A web page: a document, then the objects that it references, requested over persistent connections.
//!
//! With HTTP/1.1 a connection has one request at a time: the next one is sent when the last byte of the response has
//! arrived (RFC 9112 section 9.3; browsers do not use pipelining, section 9.3.2). With HTTP/2 all are sent at once (RFC
//! 9113 section 5), distributed evenly if there are several connections. How responses share a connection is up to the
//! transport: over TCP the server sends them in the order of their requests.

use midflight_units::{Duration, Instant};

use super::{
    quantile, read_bytes, Actions, Measure, Measured, Message, Plan, Sizes, Unit, Way, Workload,
    DONE,
};
use crate::part::{choose, refuse, whole, Knob, KnobError, Part, PartInfo};

/// How requests share a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Http {
    /// One after the other.
    One,
    /// All at once.
    Two,
}

/// A later action of an end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Later {
    /// The client of a connection sends its next request.
    Ask(u16),
    /// The server responds.
    Answer(Message),
}

/// An object of the page; the document, if there is one, is the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Object {
    bytes: u64,
    asked: Option<Instant>,
    took: Option<Duration>,
}

/// A page and its progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    objects: u32,
    sizes: Sizes,
    document: Option<u64>,
    request: u64,
    think: Duration,
    server_delay: Duration,
    connections: u16,
    http: Http,
    page: Vec<Object>,
    begun: Instant,
    /// The first object that has not been requested.
    next: u32,
    left: u32,
    load: Option<Duration>,
    later: Plan<Later>,
}

impl Default for Web {
    fn default() -> Self {
        Self {
            objects: 20,
            sizes: Sizes::Fixed(50_000),
            document: Some(30_000),
            request: 400,
            think: Duration::ZERO,
            server_delay: Duration::ZERO,
            connections: 1,
            http: Http::One,
            page: Vec::new(),
            begun: Instant::ZERO,
            next: 0,
            left: 0,
            load: None,
            later: Plan::default(),
        }
    }
}

/// Its name and its size.
const INFO: PartInfo = PartInfo {
    name: "web",
    summary:
        "a page: a document, then the objects that it names, one after the other or all at once",
    source: "RFC 9112 section 9.3 (HTTP/1.1), RFC 9113 section 5 (HTTP/2)",
    knobs: &[
        Knob {
            name: "web_objects",
            default: "20",
            accepts: "a whole number from 1 to 10000",
            summary: "objects beside the document",
        },
        Knob {
            name: "web_object_size",
            default: "50 kB",
            accepts: Sizes::ACCEPTS,
            summary: "size of each of them",
        },
        Knob {
            name: "web_document",
            default: "30 kB",
            accepts: "a size such as 30 kB, or none",
            summary:
                "size of the document, which the client has to have before it asks for the others",
        },
        Knob {
            name: "web_request",
            default: "400 B",
            accepts: "a size from 1 B to 64 kB",
            summary: "size of a request",
        },
        Knob {
            name: "web_think",
            default: "0 s",
            accepts: "a time such as 20 ms",
            summary: "from an answer to the next request on its connection",
        },
        Knob {
            name: "web_server_delay",
            default: "0 s",
            accepts: "a time such as 20 ms",
            summary: "from a request's arrival to the first byte of its answer",
        },
        Knob {
            name: "web_connections",
            default: "1",
            accepts: "a whole number from 1 to 32",
            summary: "connections of the page, all opened at its start",
        },
        Knob {
            name: "web_http",
            default: "1.1",
            accepts: "1.1, 2",
            summary: "requests of a connection: one after the other (1.1), all at once (2)",
        },
    ],
};

impl Part for Web {
    const INFO: PartInfo = INFO;

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let refused = || refuse(&INFO, name, value);
        let time = || value.parse::<Duration>().map_err(|_| refused());
        match name {
            "web_objects" => self.objects = whole(&INFO, name, value, 1..=10_000)?,
            "web_object_size" => self.sizes = Sizes::read(value).ok_or_else(refused)?,
            "web_document" if value == "none" => self.document = None,
            "web_document" => {
                let bytes = read_bytes(value);
                self.document = Some(bytes.ok_or_else(refused)?);
            }
            "web_request" => {
                let bytes = read_bytes(value).filter(|bytes| *bytes <= 64_000);
                self.request = bytes.ok_or_else(refused)?;
            }
            "web_think" => self.think = time()?,
            "web_server_delay" => self.server_delay = time()?,
            "web_connections" => self.connections = whole(&INFO, name, value, 1..=32)? as u16,
            "web_http" => {
                let choices = [("1.1", Http::One), ("2", Http::Two)];
                self.http = choose(&INFO, name, value, &choices)?;
            }
            _ => return Err(refused()),
        }
        Ok(())
    }
}

impl Web {
    /// The client of a connection requests the next object, if there is one.
    fn ask(&mut self, now: Instant, connection: u16, actions: &mut Actions) {
        let number = self.next;
        let Some(object) = self.page.get_mut(number as usize) else {
            return;
        };
        self.next += 1;
        object.asked = Some(now);
        actions.record("request", number, object.bytes);
        actions.messages.push(Message {
            connection,
            way: Way::Back,
            number,
            bytes: self.request,
        });
    }

    /// The client has the list of the page's objects.
    fn ask_for_objects(&mut self, now: Instant, actions: &mut Actions) {
        let at_once = match self.http {
            Http::One => u32::from(self.connections),
            Http::Two => self.objects,
        };
        for place in 0..at_once {
            let connection = (place % u32::from(self.connections)) as u16;
            if self.think > Duration::ZERO && self.document.is_some() {
                let at = now + self.think;
                self.later.add(at, Later::Ask(connection));
            } else {
                self.ask(now, connection, actions);
            }
        }
    }

    fn on_request(&mut self, now: Instant, request: Message, actions: &mut Actions) {
        let Some(object) = self.page.get(request.number as usize) else {
            return;
        };
        let answer = Message {
            way: Way::Data,
            bytes: object.bytes,
            ..request
        };
        if self.server_delay > Duration::ZERO {
            let at = now + self.server_delay;
            self.later.add(at, Later::Answer(answer));
        } else {
            actions.messages.push(answer);
        }
    }

    fn on_answer(&mut self, now: Instant, answer: Message, actions: &mut Actions) {
        let Some(object) = self.page.get_mut(answer.number as usize) else {
            return;
        };
        let took = now.since(object.asked.unwrap_or(now));
        object.took = Some(took);
        actions.record("object", answer.number, took.as_nanos());
        self.left -= 1;
        if self.left == 0 {
            let load = now.since(self.begun);
            self.load = Some(load);
            actions.record(DONE, answer.number, load.as_nanos());
        } else if answer.number == 0 && self.document.is_some() {
            self.ask_for_objects(now, actions);
        } else if self.http == Http::One {
            if self.think > Duration::ZERO {
                let at = now + self.think;
                self.later.add(at, Later::Ask(answer.connection));
            } else {
                self.ask(now, answer.connection, actions);
            }
        }
    }
}

impl Workload for Web {
    fn connections(&self) -> u16 {
        self.connections
    }

    fn request_bytes(&self) -> Option<u64> {
        Some(self.request)
    }

    fn draw(&mut self, uniform: &mut dyn FnMut() -> f64) {
        let of = |bytes| Object {
            bytes,
            ..Object::default()
        };
        self.page = self.document.map(of).into_iter().collect();
        for _ in 0..self.objects {
            self.page.push(of(self.sizes.draw(&mut *uniform)));
        }
        self.left = self.page.len() as u32;
    }

    fn is_random(&self) -> bool {
        self.sizes.is_random()
    }

    fn begin(&mut self, now: Instant, actions: &mut Actions) {
        self.begun = now;
        if self.document.is_some() {
            self.ask(now, 0, actions);
        } else {
            self.ask_for_objects(now, actions);
        }
    }

    fn on_message(&mut self, now: Instant, message: Message, actions: &mut Actions) {
        match message.way {
            Way::Back => self.on_request(now, message, actions),
            Way::Data => self.on_answer(now, message, actions),
        }
    }

    fn wakes(&self) -> Option<Instant> {
        self.later.next()
    }

    fn on_wake(&mut self, now: Instant, actions: &mut Actions) {
        while let Some(later) = self.later.take(now) {
            match later {
                Later::Ask(connection) => self.ask(now, connection, actions),
                Later::Answer(answer) => actions.messages.push(answer),
            }
        }
    }

    fn measures(&self) -> &'static [Measure] {
        &[
            Measure {
                name: "load_ns",
                short: "load",
                unit: Unit::Time,
                summary: "from the first SYN until the client has read the last byte of the page",
            },
            Measure {
                name: "objects_done",
                short: "objects",
                unit: Unit::Count,
                summary: "objects that the client has read, the document among them",
            },
            Measure {
                name: "object_median_ns",
                short: "median",
                unit: Unit::Time,
                summary: "median of the times from an object's request to its last byte",
            },
            Measure {
                name: "object_p95_ns",
                short: "p95",
                unit: Unit::Time,
                summary: "95th percentile of these times",
            },
            Measure {
                name: "object_max_ns",
                short: "longest",
                unit: Unit::Time,
                summary: "the longest of these times",
            },
        ]
    }

    fn measured(&self, _now: Instant) -> Measured {
        let mut took: Vec<Duration> = self.page.iter().filter_map(|o| o.took).collect();
        took.sort_unstable();
        Measured(vec![
            self.load.map(Duration::as_nanos),
            Some(took.len() as u64),
            quantile(&took, 0.5),
            quantile(&took, 0.95),
            quantile(&took, 1.0),
        ])
    }
}
