//! The macro that defines a kind of record: a struct for each of its types, the enum of all, and how both are encoded.

/// Defines a kind of record: a struct for each of its types, and the enum of all. Each text field states its class.
macro_rules! events {
    ($(#[$all_meta:meta])* enum $all:ident; $($(#[$meta:meta])* $kind:literal $json_type:literal $name:ident { $($(#[$field_meta:meta])* $field:ident $json:literal : $type:ty $(as $class:ident)?,)* })*) => {
        $crate::rewrite::classed_fields! {$(
            $(#[$meta])*
            struct $name { $($(#[$field_meta])* $field $json: $type $(as $class)?,)* }
        )*}

        $(#[$all_meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $all {
            $($(#[$meta])* $name($name),)*
        }

        impl $crate::rewrite::Rewrite for $all {
            fn rewrite(&mut self, with: &mut dyn $crate::rewrite::Rewriter) {
                match self { $(Self::$name(event) => event.rewrite(with),)* }
            }
        }

        $(impl $name {
            /// The kind's number in the binary form; the number never changes and is never reused.
            pub const KIND: u64 = $kind;
        }

        impl From<$name> for $all {
            fn from(event: $name) -> Self {
                Self::$name(event)
            }
        })*

        impl $all {
            /// All kinds of this enum, sorted by number: each kind's number in the binary form and its `type` in the
            /// JSON form.
            pub const KINDS: &'static [(u64, &'static str)] = &[$(($name::KIND, $json_type)),*];

            /// The number of the event's kind in the binary form.
            #[must_use]
            pub fn kind(&self) -> u64 {
                match self { $(Self::$name(_) => $name::KIND,)* }
            }

            /// The event's `type` in the JSON form.
            #[must_use]
            pub fn type_name(&self) -> &'static str {
                match self { $(Self::$name(_) => $json_type,)* }
            }

            pub(crate) fn write_fields(&self, writer: &mut $crate::codec::Writer<'_>) {
                match self { $(Self::$name(event) => $crate::field::Fields::write_present(event, writer),)* }
            }

            /// Reads the fields of a kind; `None` if this build does not know the kind.
            pub(crate) fn read_fields(kind: u64, reader: &mut $crate::codec::Reader<'_>) -> Option<Self> {
                Some(match kind {
                    $($name::KIND => Self::$name($crate::field::Fields::read_fields(reader)),)*
                    _ => return None,
                })
            }

            pub(crate) fn entries<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self { $(Self::$name(event) => $crate::field::Fields::entries(event, map),)* }
            }
        }
    };
}
pub(crate) use events;
