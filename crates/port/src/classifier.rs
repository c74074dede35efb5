//! Which class a packet belongs to.

use vermilion_parameters::ParameterError;

use crate::shape::Class;

/// Codepoints that there are.
const CODEPOINTS: usize = 64;

/// The class of each codepoint.
#[derive(Clone, Debug)]
pub(crate) struct Classifier {
    of: [u8; CODEPOINTS],
}

impl Classifier {
    /// That of these classes.
    ///
    /// # Errors
    /// Too many classes, a codepoint that is none or has two classes, or not just one class for all other packets.
    pub(crate) fn of(classes: &[Class]) -> Result<Self, ParameterError> {
        if classes.is_empty() || classes.len() > CODEPOINTS {
            let accepted = format!("1 to {CODEPOINTS} classes");
            return Err(ParameterError::new("classes", classes.len(), accepted));
        }
        let others = classes.iter().filter(|class| class.codepoints.is_empty()).count();
        let Some(other) = classes.iter().position(|class| class.codepoints.is_empty()) else {
            let accepted = "one class without match, for all other packets";
            return Err(ParameterError::new("classes", "none without match", accepted));
        };
        if others > 1 {
            let accepted = "one class without match, for all other packets";
            return Err(ParameterError::new(
                "classes",
                format!("{others} without match"),
                accepted,
            ));
        }
        let mut of = [other as u8; CODEPOINTS];
        let mut seen = [false; CODEPOINTS];
        for (number, class) in classes.iter().enumerate() {
            for &codepoint in &class.codepoints {
                let field = format!("classes.{number}.match");
                let Some(seen) = seen.get_mut(usize::from(codepoint)) else {
                    return Err(ParameterError::new(field, codepoint, "codepoints from 0 to 63"));
                };
                if std::mem::replace(seen, true) {
                    return Err(ParameterError::new(field, codepoint, "each codepoint once"));
                }
                of[usize::from(codepoint)] = number as u8;
            }
        }
        Ok(Self { of })
    }

    /// The class of packets with this codepoint.
    #[inline]
    pub(crate) fn class_of(&self, codepoint: u8) -> usize {
        usize::from(self.of[usize::from(codepoint) % CODEPOINTS])
    }
}
