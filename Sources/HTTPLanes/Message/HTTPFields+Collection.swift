extension HTTPFields: RandomAccessCollection, ExpressibleByArrayLiteral {
    package init(_ fields: some Sequence<HTTPField>) {
        for field in fields { append(field) }
    }

    package init(arrayLiteral fields: HTTPField...) {
        self.init(fields)
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(position: Int) -> HTTPField {
        withBytes { bytes in
            let (name, value) = bytes[position]
            return HTTPField(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
        }
    }

    package mutating func append(_ field: HTTPField) {
        append(field.name, field.value)
    }
}
