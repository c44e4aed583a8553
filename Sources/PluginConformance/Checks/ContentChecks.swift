import CarillonABI
import Cipher
import Foundation
import Glibc
import HTTPLanes
import PluginHost

/// What a transport sends of a notification.
enum ContentChecks {
    private static var unknownMode: Int32 { 99 }

    static func modes(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        var honoured: [String] = []
        let modes: [(String, Int32)] = [("wake", 0), ("nudge", 1), ("sealed", 2), ("alert", 3)]
        for (name, mode) in modes + [("a mode to come", unknownMode)] {
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
                        + "for every mode but those that it honours"
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
            // A router's texts are UTF-8 and what is too large may be refused: only the rest must come out well-formed.
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
            // The first is destroyed by now.
            guard case .ended = bench.fate(of: sample, on: second) else {
                throw bench.broken.contains(.completes)
                    ? .unended
                    : .failed(
                        "after another instance was destroyed it does not deliver any more, or calls the wrong host: keep everything "
                            + "that belongs to an instance, its host first, in the instance"
                    )
            }
        }
        return ""
    }
}

/// Judges bodies by what their headers call them.
enum RequestBodies {
    /// What is wrong with the first body that does not match its content type, or nil.
    static func flaw(in requests: some Sequence<HTTPRequest>) -> String? {
        for request in requests {
            let isJSON = request.headers.contains {
                $0.name == "content-type" && $0.value.hasPrefix("application/json")
            }
            guard isJSON, (try? JSONSerialization.jsonObject(with: Data(request.body))) == nil else { continue }
            return "a request's content-type is application/json, but its body is no JSON: escape quotes, backslashes "
                + "and control characters"
        }
        return nil
    }
}

/// Looks for bytes in bytes.
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
