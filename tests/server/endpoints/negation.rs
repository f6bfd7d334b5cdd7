//! What a JSON Schema of the document refuses: values that are wrong in one place, with the path by which an error names the place.

use serde_json::{Map, Value, json};

/// Texts of which each pattern of the document refuses one.
const TEXTS: [&str; 5] = ["no such text!", "", " ", "0x0", "-1"];

/// The schemas of a document.
pub(super) struct Schemas<'a> {
    components: &'a Value,
}

/// A value that is wrong in one place.
pub(super) struct Wrong {
    pub(super) value: Value,
    /// Path of the place.
    pub(super) path: String,
    /// What is wrong there.
    pub(super) what: &'static str,
}

/// A schema without references: the forms that a value may have.
struct Forms<'a> {
    all: Vec<&'a Value>,
    is_nullable: bool,
}

impl Forms<'_> {
    /// Returns whether a value of the JSON type may be valid.
    fn have(&self, name: &str) -> bool {
        let has = |form: &&Value| match &form["type"] {
            Value::String(one) => one == name,
            Value::Array(several) => several.iter().any(|one| one == name),
            _ => true,
        };
        (name == "null" && self.is_nullable) || self.all.iter().any(has)
    }
}

impl<'a> Schemas<'a> {
    pub(super) fn of(document: &'a Value) -> Self {
        Self { components: &document["components"] }
    }

    pub(super) fn named(&self, name: &str) -> &'a Value {
        let found = &self.components["schemas"][name];
        assert!(found.is_object(), "there is no schema {name}");
        found
    }

    /// The forms that a value of the schema may have, without null.
    pub(super) fn resolved(&self, schema: &'a Value) -> Vec<&'a Value> {
        self.forms(schema).all
    }

    fn forms(&self, schema: &'a Value) -> Forms<'a> {
        if let Some(reference) = schema["$ref"].as_str() {
            return self.forms(self.named(reference.strip_prefix("#/components/schemas/").unwrap()));
        }
        let Some(choices) = schema.get("oneOf").or(schema.get("anyOf")) else {
            return Forms { all: vec![schema], is_nullable: false };
        };
        let mut forms = Forms { all: Vec::new(), is_nullable: false };
        for choice in choices.as_array().unwrap() {
            let Forms { all, is_nullable } = self.forms(choice);
            forms.is_nullable |= is_nullable || choice["type"] == "null";
            forms.all.extend(all.into_iter().filter(|form| form["type"] != "null"));
        }
        forms
    }

    /// Checks a value against a schema of the document.
    fn allows(&self, schema: &Value, value: &Value) -> bool {
        // Most have no references, and are built faster alone.
        let whole = match schema.to_string().contains("$ref") {
            true => json!({ "allOf": [schema], "components": self.components }),
            false => schema.clone(),
        };
        jsonschema::draft202012::new(&whole).unwrap().is_valid(value)
    }

    /// Returns a value that the schema allows: an example, or the least.
    pub(super) fn sample(&self, schema: &'a Value) -> Value {
        let found = self.sample_of(schema);
        assert!(self.allows(schema, &found), "{found} is no sample of {schema}: give the field an example");
        found
    }

    fn sample_of(&self, schema: &'a Value) -> Value {
        let form = self.forms(schema).all[0];
        for example in
            [&schema["example"], &schema["examples"][0], &form["example"], &form["examples"][0], &form["enum"][0]]
        {
            if !example.is_null() {
                return example.clone();
            }
        }
        let forms = Forms { all: vec![form], is_nullable: false };
        if form["properties"].is_object() {
            let required = form["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap());
            return required
                .map(|name| (name.to_owned(), self.sample(&form["properties"][name])))
                .collect::<Map<_, _>>()
                .into();
        }
        if forms.have("array") && form["items"].is_object() {
            let count = form["minItems"].as_u64().unwrap_or(0) as usize;
            return vec![self.sample(&form["items"]); count].into();
        }
        let address = format!("0x{}", "11".repeat(20));
        let (word, selector) = (format!("0x{}", "11".repeat(32)), "0x11111111");
        let texts = ["x", "0x11", &address, &word, selector, "1", "x@example.org", "{}"].map(Value::from);
        let others = [form["minimum"].clone(), json!(1), json!(true), json!({})];
        let found = texts.into_iter().chain(others).find(|value| self.allows(form, value));
        found.unwrap_or_else(|| panic!("no sample of {form}: give the field an example"))
    }

    /// Returns versions of a good value that are wrong in one place each.
    pub(super) fn wrongs(&self, schema: &'a Value, good: &Value, path: &str) -> Vec<Wrong> {
        let mut wrongs = Vec::new();
        let forms = self.forms(schema);
        let at_once = |value: Value, what| Wrong { value, path: path.to_owned(), what };
        for (name, other) in [
            ("null", Value::Null),
            ("boolean", json!(true)),
            ("number", json!(7.5)),
            ("string", json!("no such text!")),
            ("array", json!([])),
            ("object", json!({})),
        ] {
            if !forms.have(name) {
                wrongs.push(at_once(other, if name == "null" { "null" } else { "type" }));
            }
        }
        for form in forms.all.iter().copied() {
            // What one of several forms refuses, another may allow.
            if forms.all.len() == 1 {
                wrongs.extend(self.bounds(form, good).into_iter().map(|(value, what)| at_once(value, what)));
            }
            if form["properties"].is_object() && good.is_object() {
                self.members(form, good.as_object().unwrap(), path, &mut wrongs);
            }
            if form["items"].is_object() && (good.is_array() || forms.all.len() == 1) {
                let items = match good.as_array() {
                    Some(items) if !items.is_empty() => items.clone(),
                    _ => vec![self.sample(&form["items"])],
                };
                for Wrong { value, path, what } in self.wrongs(&form["items"], &items[0], &format!("{path}[0]")) {
                    let mut items = items.clone();
                    items[0] = value;
                    wrongs.push(Wrong { value: items.into(), path, what });
                }
            }
        }
        wrongs
    }

    /// Members of an object, each wrong or missing, and one that is unknown.
    fn members(&self, form: &'a Value, good: &Map<String, Value>, path: &str, wrongs: &mut Vec<Wrong>) {
        let at = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        if form["additionalProperties"] == false {
            let mut value = good.clone();
            value.insert("colour".to_owned(), json!("red"));
            wrongs.push(Wrong { value: value.into(), path: at("colour"), what: "unknown" });
        }
        for name in form["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap()) {
            let mut value = good.clone();
            value.remove(name);
            wrongs.push(Wrong { value: value.into(), path: at(name), what: "missing" });
        }
        for (name, schema) in form["properties"].as_object().unwrap() {
            let member =
                good.get(name).filter(|member| !member.is_null()).cloned().unwrap_or_else(|| self.sample(schema));
            for Wrong { value, path, what } in self.wrongs(schema, &member, &at(name)) {
                let mut whole = good.clone();
                whole.insert(name.clone(), value);
                wrongs.push(Wrong { value: whole.into(), path, what });
            }
        }
    }

    /// Values of the right type that are out of bounds, of no pattern, not in the list.
    fn bounds(&self, form: &'a Value, good: &Value) -> Vec<(Value, &'static str)> {
        let mut found = Vec::new();
        let forms = Forms { all: vec![form], is_nullable: false };
        if form["enum"].is_array() {
            found.push((json!("no such value"), "enum"));
        }
        if let Some(pattern) = form["pattern"].as_str() {
            let schema = json!({ "type": "string", "pattern": pattern });
            let other = TEXTS.into_iter().find(|text| !self.allows(&schema, &json!(text)));
            found.push((json!(other.unwrap_or_else(|| panic!("no text that {pattern} refuses"))), "pattern"));
        }
        if forms.have("string") && form["format"].is_string() {
            found.push((json!("no such format"), "format"));
        }
        let text = good.as_str().unwrap_or("x");
        if let Some(max) = form["maxLength"].as_u64() {
            let (max, last) = (max as usize, text.chars().last().unwrap_or('x').to_string());
            let length = text.chars().count();
            found.push((json!(format!("{text}{}", last.repeat((max + 1).saturating_sub(length)))), "too long"));
        }
        if let Some(min) = form["minLength"].as_u64().filter(|min| *min > 0) {
            found.push((json!(text.chars().take(min as usize - 1).collect::<String>()), "too short"));
        }
        if forms.have("integer") && !forms.have("number") {
            found.push((json!(1.5), "fraction"));
        }
        if let Some(min) = form["minimum"].as_i64() {
            found.push((json!(min - 1), "below the minimum"));
        }
        if let Some(max) = form["maximum"].as_u64().and_then(|max| max.checked_add(1)) {
            found.push((json!(max), "above the maximum"));
        }
        let item = || match good.as_array().and_then(|items| items.first()) {
            Some(item) => item.clone(),
            None => self.sample(&form["items"]),
        };
        if let Some(max) = form["maxItems"].as_u64() {
            found.push((vec![item(); max as usize + 1].into(), "too many items"));
        }
        if let Some(min) = form["minItems"].as_u64().filter(|min| *min > 0) {
            found.push((vec![item(); min as usize - 1].into(), "too few items"));
        }
        if form["uniqueItems"] == true {
            found.push((vec![item(); 2].into(), "an item twice"));
        }
        found
    }
}

#[test]
fn every_keyword_is_negated() {
    let document = json!({ "components": { "schemas": {
        "Colour": { "type": "string", "enum": ["red", "blue"] },
        "Body": {
            "type": "object", "additionalProperties": false, "required": ["name"],
            "properties": {
                "name": { "type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a+$", "example": "aa" },
                "age": { "type": ["integer", "null"], "minimum": 0, "maximum": 9 },
                "colours": {
                    "type": "array", "items": { "$ref": "#/components/schemas/Colour" },
                    "minItems": 1, "maxItems": 2, "uniqueItems": true,
                },
                "inner": { "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/Inner" }] },
            },
        },
        "Inner": { "type": "object", "additionalProperties": false, "required": ["x"], "properties": { "x": { "type": "boolean" } } },
    } } });
    let schemas = Schemas::of(&document);
    let body = schemas.named("Body");
    let good = schemas.sample(body);
    assert_eq!(good, json!({ "name": "aa" }));
    let wrongs = schemas.wrongs(body, &good, "");
    for wrong in &wrongs {
        assert!(!schemas.allows(body, &wrong.value), "{} is right: {}", wrong.value, wrong.what);
    }
    for (path, what) in [
        ("", "type"),
        ("name", "missing"),
        ("name", "too long"),
        ("name", "too short"),
        ("name", "pattern"),
        ("age", "fraction"),
        ("age", "below the minimum"),
        ("age", "above the maximum"),
        ("colours", "too many items"),
        ("colours", "too few items"),
        ("colours", "an item twice"),
        ("colours[0]", "enum"),
        ("inner.x", "missing"),
        ("inner.x", "type"),
        ("inner.colour", "unknown"),
        ("colour", "unknown"),
    ] {
        assert!(wrongs.iter().any(|wrong| wrong.path == path && wrong.what == what), "{path} {what}");
    }
}
