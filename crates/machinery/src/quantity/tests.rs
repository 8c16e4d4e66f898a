use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Recorded answers of upstream; see the file's first line.
const VECTORS: &str = include_str!("../../testdata/quantities.json");

#[test]
fn texts_parse_print_and_fail_as_upstream() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    for row in vectors["parse"].as_array().unwrap() {
        let text = row[0].as_str().unwrap();
        // Upstream prints 1: there is no suffix for 10²¹.
        if text == "1000E" {
            assert_eq!(Quantity::parse(text).unwrap().to_string(), "1e21");
            continue;
        }
        match Quantity::parse(text) {
            Ok(quantity) => {
                assert_eq!(json!(quantity.to_string()), row[1], "{text}");
                assert_eq!(json!(quantity.canonical()), row[2], "{text}");
                check_value(text, quantity.value(), &row[3][0]);
                check_value(text, quantity.milli_value(), &row[3][1]);
            }
            Err(error) => assert_eq!(json!(error.to_string()), row[4], "{text}"),
        }
    }
}

/// Compares conversions, except where ours saturates because upstream's wraps or gives up, and
/// except negative amounts, which upstream rounds up, down or not at all depending on how it
/// happens to hold them.
#[track_caller]
fn check_value(text: &str, value: i64, upstream: &Value) {
    let wraps = value == i64::MAX || value == i64::MIN;
    if !wraps && !text.starts_with('-') {
        assert_eq!(json!(value.to_string()), *upstream, "{text}");
    }
}

#[test]
fn negative_amounts_round_away_from_zero() {
    let milli = |text: &str| Quantity::parse(text).unwrap().milli_value();
    assert_eq!(
        (milli("-1500m"), milli("-5u"), milli("-0.1n"), milli("-2Ki")),
        (-1500, -1, -1, -2_048_000)
    );
}

#[test]
fn amounts_compare_add_and_subtract_as_upstream() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    for row in vectors["arithmetic"].as_array().unwrap() {
        let parse = |at: usize| Quantity::parse(row[at].as_str().unwrap()).unwrap();
        let (a, b) = (parse(0), parse(1));
        let order = match a.cmp(&b) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        };
        assert_eq!(json!(order), row[2], "{a} {b}");
        assert_eq!(json!(a.add(&b).to_string()), row[3], "{a} + {b}");
        assert_eq!(json!(a.sub(&b).to_string()), row[4], "{a} - {b}");
    }
}

#[test]
fn huge_exponents_cost_nothing() {
    let huge = Quantity::parse("1e2147483640").unwrap();
    assert!(huge > Quantity::parse("9E").unwrap());
    assert_eq!(huge.value(), i64::MAX);
    assert_eq!(huge.add(&Quantity::parse("1n").unwrap()), huge);
    assert_eq!(
        Quantity::parse("1e-2147483640").unwrap().to_string(),
        "1e-9"
    );
    assert_eq!(Quantity::parse(&"9".repeat(40)), Err(Error::Numeric));
    assert_eq!(huge.canonical(), "1e2147483640");
}

proptest! {
    #[test]
    fn printing_and_parsing_are_inverse(
        n in any::<i64>(), scale in -9i32..12, format in 0usize..3,
    ) {
        let format = [Format::DecimalSi, Format::BinarySi, Format::DecimalExponent][format];
        let quantity = Quantity { unscaled: n.into(), scale, format, text: None };
        // Binary amounts are capped when they are read.
        prop_assume!(format != Format::BinarySi || quantity.value().unsigned_abs() < i64::MAX.unsigned_abs());
        let again = Quantity::parse(&quantity.canonical()).unwrap();
        prop_assert_eq!(&again, &quantity);
        // A binary amount that cannot be written with a binary suffix comes back as a decimal one.
        if quantity.canonical().ends_with('i') || format != Format::BinarySi {
            prop_assert_eq!(again.canonical(), quantity.canonical());
        }
    }

    #[test]
    fn sums_and_differences_agree(a in -1_000_000i64..1_000_000, b in -1_000_000i64..1_000_000) {
        let (qa, qb) = (Quantity::from_milli(a, Format::DecimalSi), Quantity::new(b, Format::BinarySi));
        prop_assert_eq!(qa.add(&qb).sub(&qb), qa.clone());
        prop_assert_eq!(qa.cmp(&qb), a.cmp(&(b * 1000)));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[-+0-9.eEinumkKMGTP é]{0,12}") {
        if let Ok(quantity) = Quantity::parse(&text) {
            let _ = (quantity.canonical(), quantity.value(), quantity.milli_value());
        }
    }
}
