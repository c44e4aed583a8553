extension HTTPFields {
    /// Names and values as bytes; borrowed from ``HTTPFields/withBytes(_:)``.
    package struct Bytes {
        package let count: Int
        private let table: UnsafeRawPointer?
        private let texts: UnsafePointer<UInt8>?

        init(memory: UnsafeBufferPointer<UInt8>, room: Int, count: Int) {
            self.count = count
            table = UnsafeRawPointer(memory.baseAddress)
            texts = memory.baseAddress.map { $0 + room * 8 }
        }

        package subscript(
            index: Int
        ) -> (name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
            precondition((0..<count).contains(index), "no such field")
            guard let table, let texts else { preconditionFailure("fields without memory") }
            let start = index == 0 ? 0 : end(index * 8 - 4, table)
            let nameEnd = end(index * 8, table)
            let valueEnd = end(index * 8 + 4, table)
            return (
                UnsafeBufferPointer(start: texts + start, count: nameEnd - start),
                UnsafeBufferPointer(start: texts + nameEnd, count: valueEnd - nameEnd)
            )
        }

        private func end(_ offset: Int, _ table: UnsafeRawPointer) -> Int {
            Int(table.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
    }
}
