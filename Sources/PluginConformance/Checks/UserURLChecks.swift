import CarillonABI
import HTTPLanes
import PluginHost

/// Whether a transport fetches what users and strangers name only where the host guards its own network: with
/// `CARILLON_HTTP_UNTRUSTED_URL`.
enum UserURLChecks {
    /// Who writes an event chooses its links, and a push service of a user's own chooses where it redirects to.
    private static let link = "https://stranger.conformance.example/picture.png"
    private static let location = "https://redirected.conformance.example/elsewhere"

    static func userURLs(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        // Hosts that the operator names are the operator's choice, whoever else names them.
        let trusted = URLHosts.named(in: Array((bench.configuration ?? "").utf8))
        var fetched = 0
        for parcel in [sample] + Samples.parcels(bench) {
            bench.at("a registration's URL")
            let requests = try requests(for: parcel, on: bench)
            let named = parcel.fields.map(\.value).reduce(URLHosts.named(in: parcel.token)) {
                $0.union(URLHosts.named(in: $1))
            }
            try judge(requests, naming: named.subtracting(trusted), "the registration")
            fetched += requests.count
        }
        bench.at("a notification's URLs")
        let linked = sample.inMode(carillon_mode.CARILLON_ALERT.rawValue)
            .with { parcel in
                let link = Array(link.utf8)
                parcel.url = link
                parcel.buttons = [
                    Parcel.Button(id: Array("open".utf8), label: Array("Open".utf8), url: link, icon: link)
                ]
                parcel.data = Array("{\"image\":\"\(Self.link)\"}".utf8)
            }
        try judge(requests(for: linked, on: bench), naming: URLHosts.named(in: Array(link.utf8)), "the notification")
        bench.at("a redirect")
        let redirected = try requests(for: sample, on: bench, redirectedTo: location)
        if redirected.contains(where: \.untrustedURL) {
            try judge(
                redirected,
                naming: URLHosts.named(in: Array(location.utf8)),
                "a redirect of a user's push service"
            )
        }
        return fetched == 0 ? "it made no request" : ""
    }

    /// What is asked for until everything has ended.
    private static func requests(
        for parcel: Parcel,
        on bench: TransportBench,
        redirectedTo location: String? = nil
    ) throws(CheckStop) -> [HTTPRequest] {
        let instance = try bench.instance()
        // Only the first request is redirected: a plugin that follows would follow for ever.
        instance.host.set(location == nil ? .answer(Answer(200)) : .hold)
        guard instance.validate(parcel)?.isRefused != true, instance.deliver(parcel).status == .CARILLON_OK else {
            instance.destroy()
            return []
        }
        if let location {
            instance.host.release(Answer(307, headers: [("location", location)]), then: Answer(200))
        }
        if bench.wait(for: instance, until: \.isIdle) { instance.destroy() }
        return instance.host.log.requests
    }

    private static func judge(
        _ requests: [HTTPRequest],
        naming hosts: Set<String>,
        _ source: String
    ) throws(CheckStop) {
        for request in requests where !request.untrustedURL {
            guard !hosts.isDisjoint(with: URLHosts.named(in: Array(request.url.utf8))) else { continue }
            throw .failed(
                "it sends to a URL of \(source) without CARILLON_HTTP_UNTRUSTED_URL: others choose these URLs, and without "
                    + "the flag they reach the operator's own network"
            )
        }
    }
}

/// Finds the hosts that a text names: in URLs, behind an `@`, or as the whole text.
enum URLHosts {
    /// In lower case, without ports.
    static func named(in text: [UInt8]) -> Set<String> {
        guard text.count <= 65_536, let text = String(validating: text, as: UTF8.self)?.lowercased() else { return [] }
        var hosts: Set<String> = []
        for part in text.split(separator: "://", omittingEmptySubsequences: false).dropFirst() {
            hosts.formUnion(host(ofAuthority: part.prefix { !"/?#\\\"' <>,".contains($0) }))
        }
        if !text.contains("://"), text.contains(".") { hosts.formUnion(host(ofAuthority: text[...])) }
        return hosts
    }

    /// None for what cannot be a host.
    private static func host(ofAuthority text: Substring) -> [String] {
        let place = text.split(separator: "@", omittingEmptySubsequences: false).last ?? text
        let host = place.first == "[" ? place.prefix { $0 != "]" } : place.prefix { $0 != ":" }
        let isHost = host.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || "-._[:".utf8.contains(byte)
        }
        return isHost && (1...254).contains(host.utf8.count) ? [String(host)] : []
    }
}
