#[derive(KeyPart)]
#[key(crate = crate::reexported::runtime)]
struct OrderId(u64);

// ---- expands to ----

#[automatically_derived]
#[diagnostic::do_not_recommend]
impl crate::reexported::runtime::KeyPart for OrderId {
    fn encode(
        &self,
        parts: &mut crate::reexported::runtime::KeyParts<'_>,
    ) -> ::core::result::Result<(), crate::reexported::runtime::MissingPart> {
        crate::reexported::runtime::KeyPart::encode(&self.0, parts)?;
        ::core::result::Result::Ok(())
    }
}
