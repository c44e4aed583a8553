import CarillonABI
import Cipher
import Foundation
import Glibc
import HTTPClient
import PluginHost

/// Checks a transport's requests for a notification.
enum ContentChecks {
    private static var unknownMode: Int32 { 99 }

    static func modes(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        var honoured: [String] = []
        let modes: [(String, Int32)] = [("wake", 0), ("nudge", 1), ("sealed", 2), ("alert", 3)]
        for (name, mode) in modes + [("a future mode", unknownMode)] {
            bench.at(name)
            let instance = try bench.instance()
            let fate = bench.fate(of: sample.inMode(mode), on: instance)
            let requests = instance.host.log.requests
            if case .ended(let ending) = fate, ending.kind == .CARILLON_DELIVERED { honoured.append(name) }
            if bench.wait(for: instance, until: \.isIdle) { instance.destroy() }
            guard mode == carillon_mode.CARILLON_SEALED.rawValue || mode == unknownMode else { continue }
            let shown = [sample.title, sample.body].flatMap { [$0, Array(Base64URL.encode($0).utf8)] }
            let isShown = requests.contains { request in
                let texts = [request.body, Array(request.url.utf8)] + request.headers.map { Array($0.value.utf8) }
                return texts.contains { text in shown.contains { Bytes.contain(text, $0) } }
            }
            if isShown, mode == unknownMode {
                throw .failed(
                    "it sends title or body in a mode that it does not know (\(unknownMode)): return CARILLON_UNSUPPORTED "
                        + "for every mode that it does not implement"
                )
            }
            if isShown {
                throw .failed(
                    "it sends title or body in the clear in CARILLON_SEALED: encrypt, or return CARILLON_UNSUPPORTED"
                )
            }
        }
        return "it honours: \(honoured.isEmpty ? "none" : honoured.joined(separator: ", "))"
    }

    static func hostileText(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        for (what, text) in HostileInput.texts {
            // A router's texts are UTF-8 and oversized ones may be refused: only the rest must produce well-formed
            // requests.
            let isLegal = String(validating: text, as: UTF8.self) != nil && text.count < 1 << 16
            let legalRules: [ConformanceCheck] = isLegal ? [.requests] : []
            var requests: [HTTPRequest] = []
            try bench.onNewInstance(rules: [.completes, .completesOnce, .outcome] + legalRules) {
                instance throws(CheckStop) in
                for (name, field) in Parcel.texts {
                    bench.at("\(what) in \(name)")
                    _ = bench.fate(of: sample.with { $0[keyPath: field] = text }, on: instance)
                }
                bench.at("\(what) everywhere")
                let everywhere = sample.with { parcel in
                    for (_, field) in Parcel.texts { parcel[keyPath: field] = text }
                }
                _ = bench.fate(of: everywhere, on: instance)
                requests = instance.host.log.requests
            }
            if isLegal, !bench.broken.contains(.requests), let flaw = RequestBodies.flaw(in: requests) {
                throw .failed("with \(what): \(flaw)")
            }
        }
        try bench.onNewInstance(rules: [.completes, .completesOnce, .outcome]) { instance in
            for (what, parcel) in HostileInput.parcels(of: sample) + HostileInput.registrations(of: [sample]) {
                bench.at(what)
                _ = bench.fate(of: parcel, on: instance)
            }
        }
        return ""
    }

    static func instances(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        try bench.onNewInstance { second throws(CheckStop) in
            try bench.onNewInstance { first in
                _ = bench.fate(of: sample, on: first)
                _ = bench.fate(of: sample, on: second)
            }
            // The first one is already destroyed.
            guard case .ended = bench.fate(of: sample, on: second) else {
                throw bench.broken.contains(.completes)
                    ? .unended
                    : .failed(
                        "after another instance was destroyed, it stops delivering or calls the wrong host: keep everything "
                            + "that belongs to an instance, including its host, in the instance"
                    )
            }
        }
        return ""
    }
}

/// Checks request bodies by their content type.
enum RequestBodies {
    /// The problem of the first body that does not match its content type, or nil.
    static func flaw(in requests: some Sequence<HTTPRequest>) -> String? {
        for request in requests {
            let isJSON = request.headers.contains {
                $0.name == "content-type" && $0.value.hasPrefix("application/json")
            }
            guard isJSON, (try? JSONSerialization.jsonObject(with: Data(request.body))) == nil else { continue }
            return "a request's content-type is application/json, but its body is not JSON: escape quotes, "
                + "backslashes and control characters"
        }
        return nil
    }
}

/// Searches for bytes in bytes.
enum Bytes {
    static func contain(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        guard let first = part.first else { return false }
        return bytes.withUnsafeBytes { bytes in
            part.withUnsafeBytes { part in
                guard var cursor = bytes.baseAddress, let wanted = part.baseAddress else { return false }
                let end = cursor + bytes.count
                while end - cursor >= part.count, let found = memchr(cursor, Int32(first), end - cursor) {
                    cursor = UnsafeRawPointer(found)
                    if end - cursor >= part.count, memcmp(cursor, wanted, part.count) == 0 { return true }
                    cursor += 1
                }
                return false
            }
        }
    }
}

/// Checks that a transport fetches hosts from users and strangers only with the host's network guard: with
/// `CARILLON_HTTP_UNTRUSTED_URL`.
enum UserURLChecks {
    /// An event's author chooses its links, and a user's own push service chooses its redirects.
    private static let link = "https://stranger.conformance.example/picture.png"
    private static let location = "https://redirected.conformance.example/elsewhere"

    static func userURLs(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        // Hosts that the operator names are the operator's choice, even if users name them too.
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

    /// The requests until all work has ended.
    private static func requests(
        for parcel: Parcel,
        on bench: TransportBench,
        redirectedTo location: String? = nil
    ) throws(CheckStop) -> [HTTPRequest] {
        let instance = try bench.instance()
        // Only the first request is redirected: a plugin that follows redirects would follow forever.
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
                "it sends to a URL of \(source) without CARILLON_HTTP_UNTRUSTED_URL: users choose these URLs, and without "
                    + "the flag they reach the operator's own network"
            )
        }
    }
}

/// Finds the hosts in a text: in URLs, after an `@`, or as the whole text.
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

    /// Empty for text that cannot be a host.
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
