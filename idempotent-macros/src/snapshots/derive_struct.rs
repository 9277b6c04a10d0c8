#[derive(KeyPart)]
struct Position<'a, T: Kind, const N: usize> {
    order: OrderId,
    kind: T::Name,
    lines: &'a [u8; N],
    #[key(skip)]
    label: String,
}

// ---- expands to ----

#[automatically_derived]
impl<'a, T: Kind, const N: usize> ::idempotent_runtime::KeyPart for Position<'a, T, N>
where
    T::Name: ::idempotent_runtime::KeyPart,
{
    fn encode(
        &self,
        parts: &mut ::idempotent_runtime::KeyParts<'_>,
    ) -> ::core::result::Result<(), ::idempotent_runtime::MissingPart> {
        ::idempotent_runtime::KeyPart::encode(&self.order, parts)?;
        ::idempotent_runtime::KeyPart::encode(&self.kind, parts)?;
        ::idempotent_runtime::KeyPart::encode(&self.lines, parts)?;
        ::core::result::Result::Ok(())
    }
}
