/// One request as it came over a stream.
struct APNsRequest {
    var method: String
    var path: String
    /// Without the pseudo headers.
    var headers: [LabHeader]
    var body: [UInt8]
    /// The body went on beyond what the lab reads.
    var isCut = false

    func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// The part of the path that should be a device token, in lower case.
    var token: String {
        path.hasPrefix(Self.devicePath) ? path.dropFirst(Self.devicePath.count).lowercased() : ""
    }

    static let devicePath = "/3/device/"
}
