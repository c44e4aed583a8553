import CarillonABI
import HTTPLanes

extension Result<HTTPResponse, HTTPFailure> {
    /// Lends the answer, or that there was none, for the time of `body`.
    func lend(_ body: (UnsafePointer<carillon_http_response>) -> Void) {
        var status: UInt32 = 0
        var headers: [HTTPField] = []
        var content: [UInt8] = []
        var failure = ""
        switch self {
        case .success(let response):
            status = UInt32(clamping: response.status)
            headers = response.headers
            content = response.body
        case .failure(let reason): failure = reason.reason.rawValue
        }

        let structBytes = headers.count * MemoryLayout<carillon_field>.stride
        let textBytes = headers.reduce(failure.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        withUnsafeTemporaryAllocation(byteCount: structBytes + textBytes, alignment: 8) { block in
            var memory = LentMemory(block, structBytes: structBytes, textBytes: textBytes)
            let fields = memory.array(of: carillon_field.self, count: headers.count)
            for (index, header) in headers.enumerated() {
                let name = memory.text(header.name)
                fields.initializeElement(at: index, to: carillon_field(name: name, value: memory.text(header.value)))
            }
            content.withUnsafeBytes { content in
                let response = carillon_http_response(
                    struct_size: UInt32(MemoryLayout<carillon_http_response>.size),
                    status: status,
                    headers: headers.isEmpty ? nil : UnsafePointer(fields.baseAddress),
                    header_count: headers.count,
                    body: carillon_bytes(ptr: content.baseAddress, len: content.count),
                    failure: memory.text(failure)
                )
                withUnsafePointer(to: response, body)
            }
        }
    }
}
