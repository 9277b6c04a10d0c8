//! Options that are a number.

use std::num::NonZero;

use syn::{Expr, ExprLit, ExprUnary, Lit, LitInt, UnOp};

use crate::errors::Errors;
use crate::options::Given;
use crate::text::text;

/// A number from 1, written down: the check that it is not zero must not wait for a call.
pub(crate) fn count(Given { name, value }: Given, errors: &mut Errors) -> Option<NonZero<u32>> {
    let message = match &value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => match parsed(number) {
            Ok(number) => return Some(number),
            Err(why) => format!("`{name}` {why}"),
        },
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), .. }) => format!("`{name}` cannot be negative; write 1 or more"),
        Expr::Lit(ExprLit { lit: Lit::Str(number), .. }) if number.value().parse::<u32>().is_ok() => {
            format!("`{name}` is a number, not a string; write `{name} = {}`", number.value())
        }
        _ => format!("`{name}` is a number written down, such as `{name} = 5`, not `{}`", text(&value)),
    };
    errors.push(value, message);
    None
}

fn parsed(number: &LitInt) -> Result<NonZero<u32>, String> {
    if !number.suffix().is_empty() {
        return Err(format!("is a plain number; write `{}`", number.base10_digits()));
    }
    let count =
        number.base10_parse::<u32>().map_err(|_| format!("can be at most {}; for no limit, leave it out", u32::MAX))?;
    NonZero::new(count).ok_or_else(|| "of 0 would let nothing run; write 1 or more".to_owned())
}
