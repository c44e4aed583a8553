import Cipher

/// Registrations as the usual push services have them.
enum Samples {
    /// Where no push service is: the name is reserved (RFC 2606 section 2).
    static let endpoint = "https://push.conformance.example/up/Zk3sConformanceEndpoint?t=1"

    /// The registration given for the platform, or else one of each usual kind.
    static func parcels(_ bench: TransportBench) -> [Parcel] {
        if let given = bench.plan.registrations[bench.platform] { return [Parcel(to: given)] }
        return registrations.map(Parcel.init(to:))
    }

    private static let registrations: [ConformancePlan.Registration] = {
        let keys = [
            "p256dh": Base64URL.encode(P256PrivateKey().publicKey.x963Representation),
            "auth": Base64URL.encode(SecureRandom.bytes(16)),
        ]
        let hex = Hex.encode(SHA256.hash(Array("conformance".utf8)))
        return [
            ConformancePlan.Registration(token: endpoint, fields: keys),
            ConformancePlan.Registration(token: endpoint),
            ConformancePlan.Registration(token: hex),
            ConformancePlan.Registration(token: "cOnF0rmanceQ1:APA91b" + String(repeating: "Zx-9_", count: 26)),
            ConformancePlan.Registration(token: "conformance-registration-token"),
        ]
    }()
}
