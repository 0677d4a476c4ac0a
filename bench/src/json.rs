//! Figures for programs: one line of JSON each.

use serde_json::Value;

use crate::figure::Figure;

/// The line for a figure: name, value, unit, `compared_to`, ratio, reach and ok, in this order. What does not apply is
/// null.
#[must_use]
pub fn line(figure: &Figure) -> String {
    let fields: [(&str, Value); 7] = [
        ("name", figure.name.as_str().into()),
        ("value", rounded(figure.value).into()),
        ("unit", figure.unit.into()),
        ("compared_to", figure.compared_to.as_deref().into()),
        ("ratio", figure.ratio.map(rounded).into()),
        ("reach", figure.reach.map(|reach| reach.to_string()).into()),
        ("ok", figure.ok().into()),
    ];
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

/// Three places after the point: more is noise.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Reach;

    #[test]
    fn a_figure_is_one_line_with_its_fields_in_order() {
        let figure =
            Figure::new("a \"b\"", 41.23456, "ns").against("recloser", 1.25).reach(Reach::RatioAtMost(1.5));
        assert_eq!(
            line(&figure),
            r#"{"name":"a \"b\"","value":41.235,"unit":"ns","compared_to":"recloser","ratio":1.25,"reach":"<= 1.5x","ok":true}"#
        );
    }

    #[test]
    fn what_does_not_apply_is_null() {
        assert_eq!(
            line(&Figure::new("a", 0.0, "ns")),
            r#"{"name":"a","value":0.0,"unit":"ns","compared_to":null,"ratio":null,"reach":null,"ok":null}"#
        );
    }
}
