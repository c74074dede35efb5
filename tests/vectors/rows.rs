//! Reads files of test vectors, whose recorded cases have rows in place of steps (README.md).

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The file of this text, with steps made of the rows.
pub fn read<File: DeserializeOwned>(text: &str) -> serde_json::Result<File> {
    let mut file: Value = serde_json::from_str(text)?;
    for case in file["cases"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut)
    {
        if let (Some(kinds), Some(Value::Array(rows))) = (case.remove("kinds"), case.remove("rows"))
        {
            let steps = rows.into_iter().map(|row| step(&kinds, row)).collect();
            case.insert("steps".to_owned(), Value::Array(steps));
        }
    }
    serde_json::from_value(file)
}

fn step(kinds: &Value, row: Value) -> Value {
    let Value::Array(row) = row else { panic!("{row} is not a row") };
    let mut values = row.into_iter();
    let kind = values.next().and_then(|kind| kind.as_u64()).expect("a row begins with its kind");
    let keys = kinds[kind as usize].as_array().expect("a kind is a list of keys");
    assert_eq!(keys.len(), values.len(), "as many values as keys");
    let mut step = Map::new();
    for (key, value) in keys.iter().zip(values) {
        let key = key.as_str().expect("keys are text");
        match key.split_once('.') {
            None => step.insert(key.to_owned(), value),
            Some((outer, inner)) => step
                .entry(outer)
                .or_insert_with(|| Value::Object(Map::new()))
                .as_object_mut()
                .expect("an object")
                .insert(inner.to_owned(), value),
        };
    }
    Value::Object(step)
}
