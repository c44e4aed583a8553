/// One request as it came over a stream.
struct HTTP2Request {
    var method: String
    /// As the client wrote it, with its query.
    var path: String
    /// Names in lower case, without the pseudo headers.
    var headers: [LabHeader]
    var body: [UInt8]
    /// The body went on beyond what the lab reads.
    var isCut = false

    func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}
