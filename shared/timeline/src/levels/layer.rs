//! The layers of a simulated cluster: the kind, name and number of each.

use watchscope_model::Text;
use watchscope_model::tree;

use crate::id::LayerId;

/// A layer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// All layers together.
    All,
    /// etcd.
    Etcd,
    /// An apiserver: all its caches together.
    Server(u64),
    /// The watch cache of a resource in an apiserver, with the watches that it feeds.
    Cache(u64, Text),
    /// The stream from a watch cache to a client: the buffers of the client's watches, and their connections.
    Stream(u64, Text, Text),
    /// The stream from etcd to a client, through an apiserver that bypasses its watch cache of the resource.
    Direct(u64, Text, Text),
    /// A crowd: client programs whose names differ only in a number. The text is the name's part before the number.
    Crowd(Text),
    /// A client program.
    Client(Text),
    /// The connections of a client; the client need not be a program of the simulated world.
    Connections(Text),
}

impl Layer {
    /// Returns the layer's name. The name never changes: tests and links find the layer's lane by it.
    pub(crate) fn name(&self) -> Text {
        match self {
            Self::All => "inside".into(),
            Self::Etcd => "etcd".into(),
            Self::Server(server) => format!("apiserver {server}").into(),
            Self::Cache(server, resource) => format!("apiserver {server} {resource}").into(),
            Self::Stream(server, resource, client) => {
                format!("stream apiserver {server} {resource} {client}").into()
            }
            Self::Direct(server, resource, client) => {
                format!("stream etcd {server} {resource} {client}").into()
            }
            Self::Crowd(name) => format!("clients {name}").into(),
            Self::Client(client) => format!("client {client}").into(),
            Self::Connections(client) => format!("connections {client}").into(),
        }
    }
}

/// All layers met, with their names. A layer's number is the same in all epochs. The list grows with the layers of the
/// cluster, and never shrinks while the page lives.
#[derive(Debug, Default)]
pub(crate) struct LayerNames {
    all: Vec<(Layer, Text)>,
    /// The crowds among the layers, by the part of the name before the number.
    crowds: Vec<(Text, LayerId)>,
}

impl LayerNames {
    /// Returns a layer's name; `None` for a number that no layer has.
    pub(crate) fn name(&self, id: LayerId) -> Option<&Text> {
        self.all.get(id.0 as usize).map(|(_, name)| name)
    }

    /// Returns the layer with a number; `None` for a number that no layer has.
    pub(crate) fn layer(&self, id: LayerId) -> Option<&Layer> {
        self.all.get(id.0 as usize).map(|(layer, _)| layer)
    }

    /// Returns a layer's number, if it was met.
    pub(crate) fn find(&self, layer: &Layer) -> Option<LayerId> {
        let place = self.all.iter().position(|(known, _)| known == layer)?;
        Some(LayerId(place as u32))
    }

    /// Returns the connections of a client program, if any were met.
    pub(crate) fn connections_of(&self, client: &Text) -> Option<LayerId> {
        self.find(&Layer::Connections(client.clone()))
    }

    /// Returns the number of client programs met so far that are in no crowd.
    pub(crate) fn clients(&self) -> usize {
        let alone = |layer: &Layer| match layer {
            Layer::Client(name) => self.crowd(name).is_none(),
            _ => false,
        };
        self.all.iter().filter(|(layer, _)| alone(layer)).count()
    }

    /// Returns the crowd that a client program is in; `None` if it is in none.
    pub(crate) fn crowd(&self, client: &str) -> Option<LayerId> {
        let (crowd, _) = crowd_of(client)?;
        let found = self.crowds.iter().find(|(known, _)| **known == *crowd)?;
        Some(found.1)
    }

    fn numbered(&self) -> impl Iterator<Item = (&Layer, LayerId)> {
        let layers = self.all.iter().map(|(layer, _)| layer);
        layers.zip((0..).map(LayerId))
    }

    /// Returns the streams that a watch cache feeds, with their clients, in the order in which they were met; may be
    /// empty.
    pub(crate) fn streams_from(&self, server: u64, resource: &Text) -> Vec<(&Text, LayerId)> {
        let streams = self.numbered().filter_map(|(layer, id)| match layer {
            Layer::Stream(from, of, client) if *from == server && of == resource => {
                Some((client, id))
            }
            _ => None,
        });
        streams.collect()
    }

    /// Returns the streams that etcd feeds through a server that bypasses its watch caches, in the order in which they
    /// were met; may be empty. Each stream comes with its resource and client.
    pub(crate) fn streams_past(&self, server: u64) -> Vec<(&Text, &Text, LayerId)> {
        let streams = self.numbered().filter_map(|(layer, id)| match layer {
            Layer::Direct(from, of, client) if *from == server => Some((of, client, id)),
            _ => None,
        });
        streams.collect()
    }

    /// Returns the streams of a resource to a client, each with its server, in the order in which they were met; may be
    /// empty.
    pub(crate) fn streams_of(&self, resource: &Text, client: &Text) -> Vec<(u64, LayerId)> {
        let streams = self.numbered().filter_map(|(layer, id)| match layer {
            Layer::Stream(server, of, to) | Layer::Direct(server, of, to)
                if of == resource && to == client =>
            {
                Some((*server, id))
            }
            _ => None,
        });
        streams.collect()
    }

    /// Whether a stream comes from etcd and bypasses the watch cache.
    pub(crate) fn is_past_cache(&self, stream: LayerId) -> bool {
        matches!(self.layer(stream), Some(Layer::Direct(..)))
    }

    /// Returns the client programs of a crowd by rising number; empty if none was met.
    pub(crate) fn members(&self, crowd: &str) -> Vec<(&Text, LayerId)> {
        let members = self.numbered().filter_map(|(layer, id)| match layer {
            Layer::Client(name) => match crowd_of(name) {
                Some((of, number)) if of == crowd => Some((number, (name, id))),
                _ => None,
            },
            _ => None,
        });
        let mut members: Vec<_> = members.collect();
        tree::sort_by_key(&mut members, |&(number, _)| number);
        members.into_iter().map(|(_, member)| member).collect()
    }

    /// Returns all layers with their numbers, from the top of the picture to its bottom.
    pub(crate) fn sorted(&self) -> Vec<(&Layer, LayerId)> {
        let mut all: Vec<_> = self.numbered().collect();
        tree::sort(&mut all);
        all
    }

    /// Returns a layer's number; a layer that was not met before gets a new one.
    pub(super) fn number(&mut self, layer: &Layer) -> LayerId {
        if let Some(known) = self.find(layer) {
            return known;
        }
        self.all.push((layer.clone(), layer.name()));
        let number = LayerId(self.all.len() as u32 - 1);
        if let Layer::Client(name) = layer
            && let Some((crowd, _)) = crowd_of(name)
            && self.members(crowd).len() >= CROWD_LEAST
        {
            let crowd = Text::from(crowd);
            let id = self.number(&Layer::Crowd(crowd.clone()));
            if self.crowds.iter().all(|(known, _)| *known != crowd) {
                self.crowds.push((crowd, id));
            }
        }
        number
    }
}

/// Least number of client programs that form a crowd, if their names differ only in a number. Fewer programs get a row
/// each, because these rows fit on a screen. The number has no source.
const CROWD_LEAST: usize = 8;

/// Returns the number at the end of a client's name: 12 for `crowd-12`; `None` for a name of another form.
pub(crate) fn number_of(client: &str) -> Option<u32> {
    Some(crowd_of(client)?.1)
}

/// Splits `crowd-12` into the part before the number, and the number.
fn crowd_of(client: &str) -> Option<(&str, u32)> {
    let (crowd, number) = client.rsplit_once('-')?;
    Some((crowd, number.parse().ok()?))
}
