//! What is done over the API that is about no task. Where the body is something else, or there is none, who asks and why
//! stands behind the `?`.

use steadfast::{Deed, Operator};

use crate::extract::Params;
use crate::problem::Refusal;
use crate::state::State;

/// Who it was, where nobody said.
const SOMEBODY: &str = "somebody";

/// Who asks and why, behind the `?`.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what is read by name")]
pub(crate) struct SaidParams {
    /// Who asks, for the audit log.
    by: String,
    /// Why, for the audit log.
    because: String,
}

/// The same where it need not be said.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what is read by name")]
pub(crate) struct MaySayParams {
    /// Who asks, for the audit log.
    by: Option<String>,
    /// Why, for the audit log.
    because: Option<String>,
}

/// Who asks and why.
pub(crate) struct Said {
    by: String,
    because: String,
}

impl Said {
    /// As it stands behind the `?`, where it has to.
    pub(crate) fn take(params: &mut Params) -> Result<Self, Refusal> {
        let mut said = |name, message| {
            let text = params.one(name)?.filter(|text| !text.trim().is_empty());
            text.ok_or_else(|| Refusal::query(name, message))
        };
        let by = said("by", "say who asks: it is kept in the audit log")?;
        let because = said("because", "say why: it is kept for those who ask later")?;
        Ok(Self { by, because })
    }

    /// As it stands behind the `?`, where it may be left out: what is done says itself what it is for.
    pub(crate) fn if_any(params: &mut Params) -> Result<Self, Refusal> {
        let by = params.one("by")?.filter(|by| !by.trim().is_empty());
        let because = params.one("because")?.unwrap_or_default();
        Ok(Self { by: by.unwrap_or_else(|| SOMEBODY.to_owned()), because })
    }

    /// What this person is about to do, to what.
    pub(crate) fn deed(&self, state: &State, action: &str, about: &str) -> (Operator, Deed) {
        let operator = state.engine().operator(&self.by);
        let deed = operator.deed(action, about, &self.because);
        (operator, deed)
    }
}
