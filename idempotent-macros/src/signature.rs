//! What the signature says: the parameters that a key can use, the type of the reply, and where in the body the guarded
//! code stands.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use syn::{
    FnArg, GenericArgument, Pat, Path, PathArguments, ReturnType, Signature, Type, TypeParamBound,
    punctuated::Punctuated,
};

use crate::handler::unwrapped;

/// The names that the parameters bind, `self` among them.
pub(crate) fn parameters(signature: &Signature) -> Vec<Ident> {
    let mut names = Vec::new();
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => names.push(Ident::new("self", receiver.self_token.span)),
            FnArg::Typed(typed) => bindings(&typed.pat, &mut names),
        }
    }
    names
}

/// The names that a pattern binds.
pub(crate) fn bindings(pattern: &Pat, names: &mut Vec<Ident>) {
    match pattern {
        Pat::Ident(pattern) => {
            names.push(pattern.ident.clone());
            if let Some((_, pattern)) = &pattern.subpat {
                bindings(pattern, names);
            }
        }
        Pat::Or(pattern) => pattern.cases.first().into_iter().for_each(|pattern| bindings(pattern, names)),
        Pat::Paren(pattern) => bindings(&pattern.pat, names),
        Pat::Reference(pattern) => bindings(&pattern.pat, names),
        Pat::Slice(pattern) => pattern.elems.iter().for_each(|pattern| bindings(pattern, names)),
        Pat::Struct(pattern) => pattern.fields.iter().for_each(|field| bindings(&field.pat, names)),
        Pat::Tuple(pattern) => pattern.elems.iter().for_each(|pattern| bindings(pattern, names)),
        Pat::TupleStruct(pattern) => pattern.elems.iter().for_each(|pattern| bindings(pattern, names)),
        Pat::Type(pattern) => bindings(&pattern.pat, names),
        _ => {}
    }
}

/// The type that the function's future gives: of an `async fn`, of `impl Future<Output = R>`, of
/// `Pin<Box<dyn Future<Output = R>>>`, of `BoxFuture<'_, R>`. `None` for a function that is not asynchronous.
pub(crate) fn reply(signature: &Signature) -> Option<Type> {
    match &signature.output {
        ReturnType::Type(_, ty) if signature.asyncness.is_some() => Some((**ty).clone()),
        ReturnType::Type(_, ty) => output(ty).cloned(),
        ReturnType::Default => None,
    }
}

/// `R` of a type that is, or contains, a future of `R`.
fn output(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Group(ty) => output(&ty.elem),
        Type::Paren(ty) => output(&ty.elem),
        Type::ImplTrait(ty) => output_of_bounds(&ty.bounds),
        Type::TraitObject(ty) => output_of_bounds(&ty.bounds),
        Type::Path(ty) => output_of_path(&ty.path),
        _ => None,
    }
}

fn output_of_bounds<P>(bounds: &Punctuated<TypeParamBound, P>) -> Option<&Type> {
    bounds.iter().find_map(|bound| {
        let TypeParamBound::Trait(bound) = bound else { return None };
        let segment = bound.path.segments.last().filter(|segment| segment.ident == "Future")?;
        let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
        arguments.args.iter().find_map(|argument| match argument {
            GenericArgument::AssocType(output) if output.ident == "Output" => Some(&output.ty),
            _ => None,
        })
    })
}

fn output_of_path(path: &Path) -> Option<&Type> {
    let segment = path.segments.last()?;
    let mut types = types(&segment.arguments);
    match segment.ident.to_string().as_str() {
        "BoxFuture" | "LocalBoxFuture" => types.next(),
        "Pin" | "Box" => types.next().and_then(output),
        _ => None,
    }
}

fn types(arguments: &PathArguments) -> impl Iterator<Item = &Type> {
    let arguments = match arguments {
        PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
        _ => None,
    };
    arguments.into_iter().flatten().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// `T` and `E` as far as the type spells them: `…Result<T, E>`. What an alias keeps to itself stands at the whole type.
pub(crate) fn spelled_sides(reply: &Type) -> Option<(&Type, &Type)> {
    let segment = match reply {
        Type::Group(group) => return spelled_sides(&group.elem),
        Type::Path(path) => path.path.segments.last()?,
        _ => return None,
    };
    let mut types = types(&segment.arguments);
    let spelled = segment.ident.to_string().ends_with("Result");
    spelled.then(|| (types.next().unwrap_or(reply), types.next().unwrap_or(reply)))
}

/// Where rustc is to check `T` and `E`.
pub(crate) fn sides(reply: &Type) -> (&Type, &Type) {
    spelled_sides(reply).unwrap_or((reply, reply))
}

/// What stands around the one block of a body that gives a future, so that it can be put around the guarded block.
pub(crate) enum Around {
    /// Nothing: the body of an `async fn`.
    Nothing,
    /// `async move { … }`, with the keywords as the user wrote them.
    Block { keywords: TokenStream },
    /// `Box::pin(async move { … })`.
    Call { function: TokenStream, parentheses: Group, inner: Box<Self> },
    /// `async move { … }.boxed()`.
    Method { inner: Box<Self>, call: TokenStream },
}

/// The guarded block of a function that is not an `async fn`, and what stands around it: `None` if the body is anything
/// but one block.
pub(crate) fn block(body: TokenStream) -> Option<(Around, Group)> {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    async_block(&tokens).or_else(|| pinned(&tokens))
}

/// `async move { … }`, and `.boxed()` after it.
fn async_block(tokens: &[TokenTree]) -> Option<(Around, Group)> {
    let is = |at: usize, word: &str| matches!(tokens.get(at), Some(TokenTree::Ident(ident)) if ident == word);
    if !is(0, "async") {
        return None;
    }
    let keywords = if is(1, "move") { &tokens[..2] } else { &tokens[..1] };
    let block = braces(tokens.get(keywords.len())?)?;
    let around = Around::Block { keywords: keywords.iter().cloned().collect() };
    match &tokens[keywords.len() + 1..] {
        [] => Some((around, block)),
        call @ [TokenTree::Punct(dot), TokenTree::Ident(method), TokenTree::Group(_)]
            if dot.as_char() == '.' && (method == "boxed" || method == "boxed_local") =>
        {
            Some((Around::Method { inner: Box::new(around), call: call.iter().cloned().collect() }, block))
        }
        _ => None,
    }
}

/// `Box::pin(async move { … })`, however the path to `Box` is spelled.
fn pinned(tokens: &[TokenTree]) -> Option<(Around, Group)> {
    let (TokenTree::Group(parentheses), function) = tokens.split_last()? else { return None };
    let path: String = function.iter().map(ToString::to_string).collect();
    if parentheses.delimiter() != Delimiter::Parenthesis || !(path == "Box::pin" || path.ends_with("::Box::pin")) {
        return None;
    }
    let inner: Vec<TokenTree> = parentheses.stream().into_iter().collect();
    let (inner, block) = async_block(&inner)?;
    let function = function.iter().cloned().collect();
    Some((Around::Call { function, parentheses: parentheses.clone(), inner: Box::new(inner) }, block))
}

fn braces(token: &TokenTree) -> Option<Group> {
    let TokenTree::Group(group) = token else { return None };
    let group = unwrapped(group.clone());
    (group.delimiter() == Delimiter::Brace).then_some(group)
}

/// The leading `#![…]` of a body, which must stay first, and the rest of it.
pub(crate) fn inner_attributes(body: TokenStream) -> (TokenStream, TokenStream) {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    let mut end = 0;
    while let [TokenTree::Punct(pound), TokenTree::Punct(bang), TokenTree::Group(_), ..] = &tokens[end..] {
        if pound.as_char() != '#' || bang.as_char() != '!' {
            break;
        }
        end += 3;
    }
    let rest = tokens[end..].iter().cloned().collect();
    (tokens.into_iter().take(end).collect(), rest)
}

/// The first part of a type, itself among them, that `is` what is looked for.
pub(crate) fn find<'a>(ty: &'a Type, is: &dyn Fn(&Type) -> bool) -> Option<&'a Type> {
    if is(ty) {
        return Some(ty);
    }
    match ty {
        Type::Array(ty) => find(&ty.elem, is),
        Type::Group(ty) => find(&ty.elem, is),
        Type::Paren(ty) => find(&ty.elem, is),
        Type::Reference(ty) => find(&ty.elem, is),
        Type::Tuple(ty) => ty.elems.iter().find_map(|ty| find(ty, is)),
        Type::Path(ty) => {
            ty.path.segments.iter().find_map(|segment| types(&segment.arguments).find_map(|ty| find(ty, is)))
        }
        _ => None,
    }
}
