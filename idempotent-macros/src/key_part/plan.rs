//! The rules for what a key part can be made of.

use proc_macro2::Ident;
use quote::ToTokens as _;
use syn::{Data, DataEnum, DeriveInput, Fields, Generics, Index, LitStr, Member, Path, Type, Variant};

use super::attributes::{Key, Place};
use crate::errors::Errors;
use crate::options::mentions;

/// All that expansion needs to know.
pub(super) struct Plan<'a> {
    pub(super) name: &'a Ident,
    pub(super) generics: &'a Generics,
    pub(super) runtime: Option<Path>,
    pub(super) parts: Parts<'a>,
}

/// What is written into the key.
pub(super) enum Parts<'a> {
    /// Fields, one after the other.
    Fields(Vec<Field<'a>>),
    /// The name of the variant.
    Variants(Vec<(&'a Ident, LitStr)>),
}

pub(super) struct Field<'a> {
    pub(super) member: Member,
    pub(super) ty: &'a Type,
    /// Its type depends on a type parameter, so whether it is a key part is for those who name that to say.
    pub(super) generic: bool,
}

pub(super) fn plan<'a>(input: &'a DeriveInput, errors: &mut Errors) -> Plan<'a> {
    let key = Key::of(&input.attrs, Place::Type, errors);
    let parts = match &input.data {
        Data::Struct(data) => Parts::Fields(fields(input, &data.fields, errors)),
        Data::Enum(data) => Parts::Variants(variants(input, data, errors)),
        Data::Union(data) => {
            errors.push(
                data.union_token,
                format_args!("nobody knows which field a union holds; implement `KeyPart` for `{}`", input.ident),
            );
            Parts::Fields(Vec::new())
        }
    };
    Plan { name: &input.ident, generics: &input.generics, runtime: key.runtime, parts }
}

fn fields<'a>(input: &'a DeriveInput, fields: &'a Fields, errors: &mut Errors) -> Vec<Field<'a>> {
    let parameters: Vec<Ident> = input.generics.type_params().map(|parameter| parameter.ident.clone()).collect();
    let mut parts = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        if Key::of(&field.attrs, Place::Field, errors).skip {
            continue;
        }
        let member = field.ident.clone().map_or_else(|| Member::Unnamed(Index::from(at)), Member::Named);
        let generic = mentions(field.ty.to_token_stream(), &parameters);
        parts.push(Field { member, ty: &field.ty, generic });
    }
    if parts.is_empty() {
        let why = if fields.is_empty() { "it has no field" } else { "every field is skipped" };
        let name = &input.ident;
        errors.push(name, format_args!("`{name}` would be a missing part of every key: {why}; leave it out of keys"));
    }
    parts
}

fn variants<'a>(input: &'a DeriveInput, data: &'a DataEnum, errors: &mut Errors) -> Vec<(&'a Ident, LitStr)> {
    if data.variants.is_empty() {
        let name = &input.ident;
        errors.push(name, format_args!("`{name}` has no variant, so no key can hold one; leave it out of keys"));
    }
    let mut names: Vec<(&Ident, LitStr)> = Vec::new();
    for variant in &data.variants {
        let key = Key::of(&variant.attrs, Place::Variant, errors);
        if !matches!(variant.fields, Fields::Unit) {
            errors.push(&variant.fields, with_data(&input.ident, variant));
            continue;
        }
        let name = key.rename.unwrap_or_else(|| LitStr::new(&unraw(&variant.ident), variant.ident.span()));
        if let Some((other, _)) = names.iter().find(|(_, earlier)| earlier.value() == name.value()) {
            errors.push(&name, format_args!("`{other}` is written as {:?} already; write another", name.value()));
        }
        names.push((&variant.ident, name));
    }
    names
}

fn with_data(name: &Ident, variant: &Variant) -> String {
    format!(
        "only a variant without data is its name; implement `KeyPart` for `{name}`, and say what of `{}` names the action",
        variant.ident
    )
}

/// `r#type` is named `type`.
fn unraw(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map_or_else(|| name.clone(), str::to_owned)
}
