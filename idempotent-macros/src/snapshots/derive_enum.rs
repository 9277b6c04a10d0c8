#[derive(KeyPart)]
enum Channel {
    Web,
    #[key(rename = "Shop")]
    Store,
    r#box,
}

// ---- expands to ----

#[automatically_derived]
#[diagnostic::do_not_recommend]
impl ::idempotent_runtime::KeyPart for Channel {
    fn encode(
        &self,
        parts: &mut ::idempotent_runtime::KeyParts<'_>,
    ) -> ::core::result::Result<(), ::idempotent_runtime::MissingPart> {
        parts
            .push(
                match self {
                    Self::Web => "Web",
                    Self::Store => "Shop",
                    Self::r#box => "box",
                },
            )
    }
}
