//! Names with what belongs to them, one in a line.

use super::plain;

/// Names with values, as a text in two columns.
#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<(&'static str, String)>);

impl Fields {
    /// One more; an empty value is left out.
    pub(crate) fn add(&mut self, name: &'static str, value: impl AsRef<str>) -> &mut Self {
        let value = plain(value.as_ref());
        if !value.is_empty() {
            self.0.push((name, value));
        }
        self
    }

    /// One more that may have colours: made by this program.
    pub(crate) fn add_painted(&mut self, name: &'static str, value: String) -> &mut Self {
        self.0.push((name, value));
        self
    }

    /// One more, if it is there.
    pub(crate) fn maybe(&mut self, name: &'static str, value: Option<impl AsRef<str>>) -> &mut Self {
        if let Some(value) = value {
            self.add(name, value);
        }
        self
    }

    pub(crate) fn text(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let lines: Vec<_> = self.0.iter().map(|(name, value)| format!("{name:<width$}  {value}")).collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_under_each_other_and_empty_ones_are_left_out() {
        let mut fields = Fields::default();
        fields.add("task", "0192").maybe("key", None::<&str>).add("namespace", "").add("labels", "a=b\nc");
        assert_eq!(fields.text(), "task    0192\nlabels  a=b c");
    }
}
