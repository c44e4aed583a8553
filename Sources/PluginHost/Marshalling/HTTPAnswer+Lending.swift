import CarillonABI
import HTTPLanes

extension Result<HTTPResponse, HTTPFailure> {
    /// Lends the answer, or that there was none, for the time of `body`.
    func lend(_ body: (UnsafePointer<carillon_http_response>) -> Void) {
        switch self {
        case .success(let response): response.lend(body)
        case .failure(let failure): failure.lend(body)
        }
    }
}

extension HTTPResponse {
    fileprivate func lend(_ body: (UnsafePointer<carillon_http_response>) -> Void) {
        headers.withBytes { headers in
            withUnsafeTemporaryAllocation(of: carillon_field.self, capacity: max(headers.count, 1)) { fields in
                for index in 0..<headers.count {
                    let (name, value) = headers[index]
                    fields.initializeElement(
                        at: index,
                        to: carillon_field(name: carillon_str(name), value: carillon_str(value))
                    )
                }
                self.body.withUnsafeBufferPointer { content in
                    var response = carillon_http_response()
                    response.struct_size = UInt32(MemoryLayout<carillon_http_response>.size)
                    response.status = UInt32(clamping: status)
                    response.headers = headers.count == 0 ? nil : UnsafePointer(fields.baseAddress)
                    response.header_count = headers.count
                    response.body = carillon_str(content)
                    body(&response)
                }
            }
        }
    }
}

extension HTTPFailure {
    fileprivate func lend(_ body: (UnsafePointer<carillon_http_response>) -> Void) {
        var word = reason.rawValue
        word.withUTF8 { word in
            var response = carillon_http_response()
            response.struct_size = UInt32(MemoryLayout<carillon_http_response>.size)
            response.failure = carillon_str(word)
            body(&response)
        }
    }
}

extension carillon_str {
    fileprivate init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.init(ptr: UnsafeRawPointer(bytes.baseAddress), len: bytes.count)
    }
}
