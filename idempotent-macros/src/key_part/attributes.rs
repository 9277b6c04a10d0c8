//! `#[key(…)]` on a type, a field or a variant.

use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, ExprLit, ExprPath, Lit, LitStr, Meta, MetaNameValue, Path, Token};

use crate::errors::Errors;
use crate::suggest;
use crate::text::text;

/// What the attributes of one place say.
#[derive(Default)]
pub(super) struct Key {
    pub(super) skip: bool,
    pub(super) rename: Option<LitStr>,
    pub(super) runtime: Option<Path>,
}

/// Where attributes stand.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    Type,
    Field,
    Variant,
}

/// Every option: its name, where it belongs, and an example of its use.
const OPTIONS: &[(&str, Place, &str)] = &[
    ("skip", Place::Field, "skip"),
    ("rename", Place::Variant, "rename = \"web\""),
    ("crate", Place::Type, "crate = my_crate::idempotent_runtime"),
];

impl Place {
    fn plural(self) -> &'static str {
        match self {
            Self::Type => "types",
            Self::Field => "fields",
            Self::Variant => "variants",
        }
    }

    fn example(self) -> &'static str {
        OPTIONS.iter().find(|&&(_, place, _)| place == self).map_or("", |&(.., example)| example)
    }
}

impl Key {
    pub(super) fn of(attributes: &[Attribute], place: Place, errors: &mut Errors) -> Self {
        let mut key = Self::default();
        let mut names: Vec<String> = Vec::new();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("key")) {
            for option in options(attribute, place, errors) {
                let name = text(option.path());
                if names.contains(&name) {
                    errors.push(option.path(), format_args!("`{name}` is given twice"));
                } else if let Err(error) = key.take(&name, &option, place) {
                    errors.add(error);
                }
                names.push(name);
            }
        }
        key
    }

    fn take(&mut self, name: &str, option: &Meta, here: Place) -> syn::Result<()> {
        let Some(&(_, place, example)) = OPTIONS.iter().find(|&&(option, ..)| option == name) else {
            return Err(Error::new_spanned(option.path(), unknown(name, here)));
        };
        if place != here {
            let message = format!("`{name}` is for {}, not for {}; leave it out", place.plural(), here.plural());
            return Err(Error::new_spanned(option, message));
        }
        match (name, option) {
            ("skip", Meta::Path(_)) => self.skip = true,
            ("skip", _) => return Err(Error::new_spanned(option, "`skip` is a flag; write `#[key(skip)]`")),
            (
                "rename",
                Meta::NameValue(MetaNameValue { value: Expr::Lit(ExprLit { lit: Lit::Str(name), .. }), .. }),
            ) => {
                if name.value().is_empty() {
                    return Err(Error::new_spanned(name, "an empty name is a missing key part; write another"));
                }
                self.rename = Some(name.clone());
            }
            ("crate", Meta::NameValue(MetaNameValue { value: Expr::Path(ExprPath { qself: None, path, .. }), .. })) => {
                self.runtime = Some(path.clone());
            }
            _ => {
                let message = format!("`{name}` needs a value, such as `#[key({example})]`");
                return Err(Error::new_spanned(option, message));
            }
        }
        Ok(())
    }
}

/// The options in one attribute.
fn options(attribute: &Attribute, place: Place, errors: &mut Errors) -> Vec<Meta> {
    let Meta::List(list) = &attribute.meta else {
        errors.push(&attribute.meta, format_args!("`key` takes options, such as `#[key({})]`", place.example()));
        return Vec::new();
    };
    match list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) {
        Ok(options) => options.into_iter().collect(),
        Err(error) => {
            errors.add(error);
            Vec::new()
        }
    }
}

fn unknown(name: &str, here: Place) -> String {
    match suggest::nearest(name, OPTIONS.iter().map(|&(option, ..)| option)) {
        Some(nearest) => format!("unknown option `{name}`; did you mean `{nearest}`?"),
        None => format!("unknown option `{name}`; for {} there is `#[key({})]`", here.plural(), here.example()),
    }
}
