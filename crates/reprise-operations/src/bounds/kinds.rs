//! What an argument is: how long it may be, of which form, and what becomes of a secret in it.
//!
//! An argument whose Rust type says nothing of this names its kind, `pub tag: Option<String> as
//! NameText`; without a kind it does not compile. The kind says it all in the schema of the field,
//! which [`Bounds`](super::Bounds) enforces.

use super::{
    CHOOSES, COUNT_MAX, LINE_CHARS_MAX, NON_BLANK_PATTERN, SELECTOR_PATTERN, TEXT_CHARS_MAX,
    WHOLE_SESSION, list_parts, names_type,
};
use super::{patterns, secrets};
use crate::prelude::*;

/// Types that bound nothing by themselves.
pub trait PlainType {
    /// What is in them.
    type Content;
}

/// Texts of any length.
#[derive(Debug)]
pub enum TextContent {}
/// Whole numbers of any size.
#[derive(Debug)]
pub enum CountContent {}
/// JSON of any form.
#[derive(Debug)]
pub enum FreeContent {}

macro_rules! plain_types {
    ($($content:ty: $($type:ty),*;)*) => {
        $($(impl PlainType for $type {
            type Content = $content;
        })*)*
    };
}

plain_types! {
    TextContent: String, PathBuf;
    CountContent: u8, u16, u32, u64, usize, i64;
    FreeContent: Value, Map<String, Value>;
}

impl<T: PlainType> PlainType for Option<T> {
    type Content = T::Content;
}

impl<T: PlainType> PlainType for Vec<T> {
    type Content = T::Content;
}

impl<T: PlainType, const N: usize> PlainType for [T; N] {
    type Content = T::Content;
}

impl<T: PlainType> PlainType for BTreeMap<String, T> {
    type Content = T::Content;
}

/// Tells plain types from others at compile time: a plain type has the constant itself, any other
/// has that of [`OtherType`].
#[derive(Debug)]
pub struct TypeCheck<T>(std::marker::PhantomData<T>);

impl<T: PlainType> TypeCheck<T> {
    pub const IS_PLAIN: bool = true;
}

/// What [`TypeCheck`] finds of a type that is not plain.
pub trait OtherType {
    const IS_PLAIN: bool = false;
}

impl<T> OtherType for TypeCheck<T> {}

const _: () = assert!(TypeCheck::<Option<Vec<String>>>::IS_PLAIN);

/// What an argument of type `T` may be.
pub trait ArgumentKind<T> {
    /// Says it in the schema of the field. What the field says itself stays.
    fn describe(schema: &mut Schema);
}

/// What a kind says of texts, however they are nested.
#[derive(Debug)]
pub struct TextRule {
    chars_max: usize,
    pattern: Option<fn() -> String>,
    /// What becomes of secrets; `None` if they are taken out of what is kept.
    secrets: Option<&'static str>,
    /// Whether something is chosen by it, so that a blank one is refused.
    chooses: bool,
}

impl TextRule {
    /// The rule of names of this form, by which something is chosen.
    #[must_use]
    pub const fn of_chosen_names(pattern: fn() -> String) -> Self {
        Self {
            chars_max: IDENTIFIER_BYTES_MAX,
            pattern: Some(pattern),
            secrets: None,
            chooses: true,
        }
    }

    /// The rule of lines of this form.
    #[must_use]
    pub const fn of_lines(pattern: fn() -> String) -> Self {
        Self {
            chars_max: LINE_CHARS_MAX,
            pattern: Some(pattern),
            secrets: None,
            chooses: false,
        }
    }

    fn describe(&self, schema: &mut Map<String, Value>) {
        if schema.contains_key("const") || schema.contains_key("enum") {
            return;
        }
        if names_type(schema.get("type").unwrap_or(&Value::Null), "string") {
            schema
                .entry("maxLength")
                .or_insert_with(|| json!(self.chars_max));
            if let Some(pattern) = self.pattern {
                schema.entry("pattern").or_insert_with(|| json!(pattern()));
            }
            if self.chooses {
                schema.insert(CHOOSES.to_owned(), json!(true));
            }
        }
        if let Some(rule) = self.secrets {
            schema.insert(secrets::MARK.to_owned(), json!(rule));
        }
        list_parts(schema).for_each(|part| self.describe(part));
    }
}

/// A kind of texts.
pub trait TextKind {
    /// What it says of them.
    const RULE: TextRule;
}

impl<K: TextKind, T: PlainType<Content = TextContent>> ArgumentKind<T> for K {
    fn describe(schema: &mut Schema) {
        K::RULE.describe(schema.ensure_object());
    }
}

macro_rules! text_kinds {
    (
        $($(#[$doc:meta])* $visible:vis $name:ident: $chars_max:expr, $pattern:expr, $secrets:expr;)*
    ) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            $visible enum $name {}

            impl TextKind for $name {
                const RULE: TextRule = TextRule {
                    chars_max: $chars_max,
                    pattern: $pattern,
                    secrets: $secrets,
                    chooses: false,
                };
            }
        )*
    };
}

text_kinds! {
    /// What is remembered, or asked where it may be left out.
    pub LongText: TEXT_CHARS_MAX, None, None;
    /// The question itself.
    pub(crate) QuestionText: TEXT_CHARS_MAX, Some(|| NON_BLANK_PATTERN.to_owned()), None;
    /// A line of words: a reason, a goal, an address.
    pub LineText: LINE_CHARS_MAX, None, None;
    /// What something is called: a tag, a project, an author, a relation.
    pub NameText: IDENTIFIER_BYTES_MAX, None, None;
    /// By what records are chosen: a tag, a project, an author, an agent. An empty one would choose
    /// none, or all.
    pub(crate) SelectorName: IDENTIFIER_BYTES_MAX, Some(|| SELECTOR_PATTERN.to_owned()), None;
    /// Several of them, with commas.
    pub(crate) SelectorNames: LINE_CHARS_MAX, Some(|| SELECTOR_PATTERN.to_owned()), None;
    /// What records are grouped by. One that has a secret stays equal to itself and unlike others,
    /// whether it is kept or looked for.
    pub(crate) SessionName: IDENTIFIER_BYTES_MAX, None, Some(secrets::NAME);
    /// Names by which things are looked up, several at once.
    pub(crate) RecordKeys: LINE_CHARS_MAX, None, Some(secrets::STAY);
    /// A time as a calendar reads it.
    pub TimeText: LINE_CHARS_MAX, Some(patterns::time_pattern), None;
}

/// A session that is looked for: its name, or the beginning of it, of which the whole name is made
/// before an operation sees it.
pub(crate) enum StoredSession {}

impl<T: PlainType<Content = TextContent>> ArgumentKind<T> for StoredSession {
    fn describe(schema: &mut Schema) {
        <SelectorName as ArgumentKind<T>>::describe(schema);
        <SessionName as ArgumentKind<T>>::describe(schema);
        schema.insert(WHOLE_SESSION.to_owned(), json!(true));
    }
}

/// One of some words that the field's schema lists.
pub(crate) enum FixedWord {}

impl<T: PlainType<Content = TextContent>> ArgumentKind<T> for FixedWord {
    fn describe(_: &mut Schema) {}
}

/// By what something is looked up, as it was handed out: it is never kept, and a secret in it is
/// part of the name.
#[derive(Debug)]
pub enum RecordKey {}

impl<T> ArgumentKind<T> for RecordKey {
    fn describe(schema: &mut Schema) {
        let rule = TextRule {
            chars_max: IDENTIFIER_BYTES_MAX,
            pattern: None,
            secrets: Some(secrets::STAY),
            chooses: false,
        };
        rule.describe(schema.ensure_object());
    }
}

/// A key by which several records are chosen: an empty one is refused.
pub(crate) enum SelectorKey {}

impl<T> ArgumentKind<T> for SelectorKey {
    fn describe(schema: &mut Schema) {
        schema.insert("pattern".to_owned(), json!(SELECTOR_PATTERN));
        <RecordKey as ArgumentKind<T>>::describe(schema);
    }
}

/// How many answers are asked for: none is no question.
#[derive(Debug)]
pub enum LimitCount {}

impl<T: PlainType<Content = CountContent>> ArgumentKind<T> for LimitCount {
    fn describe(schema: &mut Schema) {
        schema.insert("minimum".to_owned(), json!(1));
        <ItemCount as ArgumentKind<T>>::describe(schema);
    }
}

/// How many of something else.
pub(crate) enum ItemCount {}

impl<T: PlainType<Content = CountContent>> ArgumentKind<T> for ItemCount {
    fn describe(schema: &mut Schema) {
        let schema = schema.ensure_object();
        schema.entry("maximum").or_insert(json!(COUNT_MAX));
    }
}

/// JSON of no form of ours: a key may say that its value is a secret.
#[derive(Debug)]
pub enum FreeObject {}

impl<T: PlainType<Content = FreeContent>> ArgumentKind<T> for FreeObject {
    fn describe(schema: &mut Schema) {
        schema.insert(secrets::MARK.to_owned(), json!(secrets::FREE));
    }
}

/// Records, from which secrets are taken where each of them is kept.
pub(crate) enum RedactedLater {}

impl<T> ArgumentKind<T> for RedactedLater {
    fn describe(schema: &mut Schema) {
        schema.insert(secrets::MARK.to_owned(), json!(secrets::STAY));
    }
}

/// What the schema of another type describes, or what no caller sends.
pub(crate) enum DescribedElsewhere {}

impl<T> ArgumentKind<T> for DescribedElsewhere {
    fn describe(_: &mut Schema) {}
}

/// A struct that [`arguments!`] made: none of its fields is without a bound.
pub trait DescribedArguments {}

/// Accepts only what [`arguments!`] made, at compile time.
pub const fn require_arguments<T: DescribedArguments>() {}

/// A struct that arguments are read as. Each field whose type is plain names its kind, and each
/// former name of a field follows its name: `pub session | "session_id": Option<String> as
/// SessionName`.
#[macro_export]
macro_rules! arguments {
    (
        $(#[$($attribute:tt)*])*
        $visible:vis struct $name:ident {
            $(
                $(#[$($field_attribute:tt)*])*
                $field_visible:vis $field:ident $(| $former:literal)*: $type:ty $(as $kind:ty)?
            ),* $(,)?
        }
    ) => {
        $(#[$($attribute)*])*
        $visible struct $name {
            $(
                $(#[$($field_attribute)*])*
                $(#[serde(alias = $former)])*
                #[schemars(transform = $crate::declaring::note_former_names(&[$($former),*]))]
                $(#[schemars(
                    transform = <$kind as $crate::declaring::ArgumentKind<$type>>::describe
                )])?
                $field_visible $field: $type,
            )*
        }

        impl $crate::declaring::DescribedArguments for $name {}

        $($crate::arguments!(@check $type $(as $kind)?);)*
    };
    (@check $type:ty as $kind:ty) => {
        const _: fn(&mut $crate::declaring::Schema) = <$kind as $crate::declaring::ArgumentKind<$type>>::describe;
    };
    (@check $type:ty) => {
        const _: () = {
            use $crate::declaring::OtherType as _;
            assert!(
                !$crate::declaring::TypeCheck::<$type>::IS_PLAIN,
                "say what this argument is: `name: String as NameText` (bounds/kinds.rs)"
            );
        };
    };
}
pub(crate) use arguments;
