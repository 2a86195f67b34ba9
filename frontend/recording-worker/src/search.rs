//! A search of the file: a machine that the script drives in slices.

use wasm_bindgen::prelude::wasm_bindgen;
use watchscope_recording::Input;
use watchscope_replay::{SearchFile, SearchStep};

use crate::reading::Needs;

/// A search of the file.
#[wasm_bindgen]
pub struct Search {
    machine: SearchFile,
    is_over: bool,
}

impl Search {
    pub(crate) fn new(machine: SearchFile) -> Self {
        Self {
            machine,
            is_over: false,
        }
    }

    fn step(&mut self, input: Input) -> Option<Needs> {
        match self.machine.step(input) {
            SearchStep::Needs(needs) => Some(Needs(needs)),
            SearchStep::Pause => None,
            SearchStep::Over => {
                self.is_over = true;
                None
            }
        }
    }
}

#[wasm_bindgen]
impl Search {
    /// Begins, or goes on after a pause; returns the input that is needed, or nothing at a pause and at the end.
    pub fn begin(&mut self) -> Option<Needs> {
        self.step(Input::Begin)
    }

    /// Takes in bytes of the file.
    pub fn bytes(&mut self, bytes: Vec<u8>) -> Option<Needs> {
        self.step(Input::Bytes(bytes))
    }

    /// Takes in inflated bytes; nothing, if the bytes to inflate are no deflate stream.
    pub fn inflated(&mut self, bytes: Option<Vec<u8>>) -> Option<Needs> {
        self.step(Input::Inflated(bytes))
    }

    /// Returns whether the answer is whole.
    #[wasm_bindgen(getter, js_name = isOver)]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the lines since the last call; nothing if there are none.
    pub fn lines(&mut self) -> Option<Vec<u8>> {
        let lines = self.machine.take_lines();
        (!lines.is_empty()).then_some(lines)
    }
}
