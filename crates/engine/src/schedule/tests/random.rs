//! Random expressions in real zones, against the wall clock looked at minute by minute.

use fastrand::Rng;
use jiff::civil::DateTime;

use super::*;
use crate::schedule::Utc;

/// A field as it is written, and what it means, made apart from what reads it.
struct Field {
    text: String,
    means: Vec<i64>,
}

fn field(rng: &mut Rng, least: i64, most: i64, names: &[&str]) -> Field {
    let written = |rng: &mut Rng, value: i64| {
        let name = usize::try_from(value - least).ok().and_then(|place| names.get(place));
        name.filter(|_| rng.bool()).map_or_else(|| value.to_string(), |name| (*name).to_owned())
    };
    let mut items = Vec::new();
    let mut means = Vec::new();
    for _ in 0..rng.usize(1..4) {
        let (a, b) = (rng.i64(least..=most), rng.i64(least..=most));
        let (low, high) = (a.min(b), a.max(b));
        let step = rng.i64(1..=(high - low).max(1));
        match rng.u8(0..3) {
            0 => {
                items.push(written(rng, a));
                means.push(a);
            }
            1 => {
                items.push(format!("{}-{}", written(rng, low), written(rng, high)));
                means.extend(low..=high);
            }
            _ => {
                items.push(format!("{low}-{high}/{step}"));
                means.extend((low..=high).filter(|value| (value - low) % step == 0));
            }
        }
    }
    Field { text: items.join(","), means }
}

fn star(rng: &mut Rng, least: i64, most: i64) -> Field {
    let step = if rng.bool() { 1 } else { rng.i64(1..=(most - least).min(5)) };
    let text = if step == 1 { "*".to_owned() } else { format!("*/{step}") };
    Field { text, means: (least..=most).filter(|value| (value - least) % step == 0).collect() }
}

struct Model {
    fields: [Field; 5],
    either: bool,
}

impl Model {
    fn new(rng: &mut Rng) -> Self {
        const MONTHS: [&str; 12] =
            ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
        const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
        let mut one = |least, most, names: &[&str], stars: u8| match rng.u8(0..10) < stars {
            true => star(rng, least, most),
            false => field(rng, least, most, names),
        };
        let fields = [
            one(0, 59, &[], 2),
            one(0, 23, &[], 4),
            one(1, 31, &[], 8),
            one(1, 12, &MONTHS, 9),
            one(0, 6, &DAYS, 6),
        ];
        let either = !fields[2].text.starts_with('*') && !fields[4].text.starts_with('*');
        Self { fields, either }
    }

    fn text(&self) -> String {
        self.fields.iter().map(|field| field.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn means(&self, wall: DateTime) -> bool {
        let has = |place: usize, value: i8| self.fields[place].means.contains(&i64::from(value));
        let by_date = has(2, wall.day());
        let by_weekday = has(4, wall.weekday().to_sunday_zero_offset());
        let day = if self.either { by_date || by_weekday } else { by_date && by_weekday };
        day && has(0, wall.minute()) && has(1, wall.hour()) && has(3, wall.month())
    }

    /// Whether it goes on hour by hour.
    fn is_hourly(&self) -> bool {
        (0..24).all(|hour| self.fields[1].means.contains(&hour))
    }

    /// Looks at the wall clock at each minute of real time.
    fn looked_at(&self, zone: &TimeZone, from: Timestamp, minutes: i64) -> Vec<Timestamp> {
        let minute = SignedDuration::from_mins(1);
        let mut found = Vec::new();
        let mut latest = zone.to_datetime(from - minute);
        for nth in 0..minutes {
            let at = from + minute * i32::try_from(nth).unwrap();
            let wall = zone.to_datetime(at);
            let comes = if self.is_hourly() {
                self.means(wall)
            } else {
                // All that the wall clock has not shown before, up to what it shows now.
                let mut shown = latest;
                let mut comes = false;
                while shown < wall {
                    shown += minute;
                    comes |= self.means(shown);
                }
                comes
            };
            latest = latest.max(wall);
            found.extend(comes.then_some(at));
        }
        found
    }
}

#[test]
fn every_instant_is_one_of_the_wall_clock_and_none_is_left_out() {
    let zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", "Asia/Kolkata"];
    // Both changes of 2026 and 2027 in each zone, and a month's end.
    let begins = [
        "2026-03-07",
        "2026-03-28",
        "2026-04-04",
        "2026-10-03",
        "2026-10-24",
        "2026-10-31",
        "2027-02-27",
        "2027-03-13",
        "2027-03-27",
        "2027-04-03",
        "2027-10-02",
        "2027-10-30",
        "2027-11-06",
    ];
    const MINUTES: i64 = 3 * 24 * 60;
    let (mut all, mut none) = (0, 0);
    for seed in 0..400 {
        let mut rng = Rng::with_seed(seed);
        let model = Model::new(&mut rng);
        // Days that no month has are refused: the test of expressions has those.
        let Ok(when) = model.text().parse::<crate::schedule::When>() else { continue };
        let (zone_name, begin) = (zones[rng.usize(0..zones.len())], begins[rng.usize(0..begins.len())]);
        let real = zone(zone_name);
        let from: Timestamp = format!("{begin}T00:00:00Z").parse().unwrap();
        let expected: Vec<_> =
            model.looked_at(&real.0, from, MINUTES).iter().map(ToString::to_string).collect();
        let to = (from + SignedDuration::from_mins(MINUTES)).to_string();
        let found = between(when.as_str(), &real, &from.to_string(), &to);
        assert_eq!(found, expected, "seed {seed}: {when} in {zone_name} from {begin}");
        all += found.len();
        none += usize::from(found.is_empty());
        // Asked one by one, as the loop does, it is the same.
        let mut after = Time::from_millis(at(&from.to_string()).as_millis() - 1);
        for instant in found.iter().take(20) {
            after = Rules::new(when.clone()).first_after(&real, after).unwrap();
            assert_eq!(rfc3339(after), *instant, "seed {seed}: {when} in {zone_name}");
        }
    }
    assert!(all > 10_000 && none < 200, "{all} instants, {none} without");
}

#[test]
fn the_calendar_agrees_with_the_librarys() {
    let mut rng = Rng::with_seed(1);
    for _ in 0..20_000 {
        let second = rng.i64(0..253_402_300_799);
        let expected = Timestamp::from_second(second).unwrap().to_string();
        assert_eq!(rfc3339(Time::from_millis(u64::try_from(second).unwrap() * 1_000)), expected);
    }
    // Days and back: a daily expression names each day of 400 years once.
    let daily = rules("0 0 * * *");
    let days = daily.instants_after(Utc, at("1999-12-31T00:00:00Z")).take(146_097);
    let last = days.enumerate().map(|(nth, day)| {
        assert_eq!(day, Time::from_millis(at("2000-01-01T00:00:00Z").as_millis() + nth as u64 * 86_400_000));
        day
    });
    assert_eq!(last.last(), Some(at("2399-12-31T00:00:00Z")));
}
