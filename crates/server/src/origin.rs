//! Which requests are meant for this server. A page of the web could have a browser ask it, under a name that leads here
//! (DNS rebinding), or from another site; nobody is asked who they are yet, so both are refused before anything is looked at.

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, StatusCode, Uri};

use crate::code::Code;
use crate::problem::Refusal;

/// The longest part of a name that is told back.
const SHOWN: usize = 100;

/// Refuses what was asked of another name, or by a page of another site. `is_own` knows the names beside those of this machine
/// itself. Who says nothing of that is no browser.
pub(crate) fn check(headers: &HeaderMap, is_own: impl Fn(&str) -> bool) -> Result<(), Refusal> {
    let is_own = |name: &str| is_of_this_machine(name) || is_own(name);
    if let Some(host) = headers.get(HOST) {
        let name = host.to_str().ok().and_then(name_of);
        if !name.as_deref().is_some_and(is_own) {
            let detail = format!(
                "this server is not known as `{}`: name that among `hosts` in its settings, if it is",
                shown(host)
            );
            return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, Code::NotOurs, detail));
        }
    }
    if let Some(origin) = headers.get(ORIGIN) {
        let site = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        if !site.and_then(|(_, site)| name_of(site)).as_deref().is_some_and(is_own) {
            let detail = format!(
                "a page of `{}` asks, and pages of other sites may not: name its host among `hosts` in the settings, if it may",
                shown(origin)
            );
            return Err(Refusal::new(StatusCode::FORBIDDEN, Code::NotOurs, detail));
        }
    }
    Ok(())
}

/// The host in a URL.
pub(crate) fn host_in(url: &str) -> Option<String> {
    name_of(url.parse::<Uri>().ok()?.authority()?.as_str())
}

/// The name in front of a port, in small letters.
fn name_of(authority: &str) -> Option<String> {
    let uri: Uri = format!("http://{authority}/").parse().ok()?;
    let plain = uri.authority().is_some_and(|whole| whole.as_str() == authority && !authority.contains('@'));
    let name = uri.host().filter(|_| plain)?.trim_end_matches('.');
    (!name.is_empty()).then(|| name.to_ascii_lowercase())
}

fn is_of_this_machine(name: &str) -> bool {
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = address.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    is_loopback || name == "localhost" || name.ends_with(".localhost")
}

fn shown(value: &http::HeaderValue) -> String {
    let text: String = String::from_utf8_lossy(value.as_bytes()).chars().take(SHOWN).collect();
    text.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(name: &str, value: &str) -> Option<u16> {
        let mut headers = HeaderMap::new();
        headers.insert(http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        let told = check(&headers, |host| host == "steadfast.example");
        told.err().map(|refusal| refusal.into_problem().status)
    }

    #[test]
    fn only_names_of_this_machine_and_of_the_settings_are_answered() {
        for own in [
            "localhost",
            "LOCALHOST:7171",
            "127.0.0.1:7171",
            "127.1.2.3",
            "[::1]:7171",
            "a.localhost",
            "localhost.",
            "steadfast.example",
            "Steadfast.Example:443",
        ] {
            assert_eq!(status("host", own), None, "{own}");
        }
        for other in [
            "evil.example:7171",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "10.0.0.1",
            "",
            "x@localhost",
            "evil.example/localhost",
            "evil.example#localhost",
            "[::2]",
            "0.0.0.0",
        ] {
            assert_eq!(status("host", other), Some(421), "{other}");
        }
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        for own in ["http://localhost:7171", "http://127.0.0.1", "https://steadfast.example"] {
            assert_eq!(status("origin", own), None, "{own}");
        }
        for other in ["https://evil.example", "null", "http://localhost.evil.example", "localhost", "http://"]
        {
            assert_eq!(status("origin", other), Some(403), "{other}");
        }
    }

    #[test]
    fn who_says_nothing_is_no_browser() {
        assert!(check(&HeaderMap::new(), |_| false).is_ok());
    }
}
