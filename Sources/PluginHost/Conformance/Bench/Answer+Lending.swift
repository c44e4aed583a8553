import CarillonABI

extension Answer {
    /// The answer as the ABI says it, for as long as `arena` lives.
    func lend(in arena: Arena) -> UnsafePointer<carillon_http_response>? {
        let fields = headers.map { carillon_field(name: arena.text($0.name), value: arena.text($0.value)) }
        return arena.lend(
            carillon_http_response(
                struct_size: 0,
                status: status,
                headers: arena.array(fields),
                header_count: fields.count,
                body: arena.text(body),
                failure: arena.text(Array(failure.utf8))
            )
        )
    }
}
