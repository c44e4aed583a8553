import ArgumentParser
import CarillonLab
import Foundation
import FoundationNetworking

/// A running lab, found by the `lab.json` in its folder.
struct RunningLab: ParsableArguments {
    @Option(
        name: .customLong("lab"),
        help: ArgumentHelp("The folder of a running lab, or its lab.json.", valueName: "folder")
    )
    var place: String

    /// Sends a request to the control endpoint and returns status and body. Throws a ``LabCommandError``.
    func send(
        _ method: String,
        _ path: String,
        _ query: [String: String] = [:],
        body: String? = nil
    ) async throws -> (Int, String) {
        guard var components = URLComponents(string: try control() + path) else {
            throw LabCommandError("control_url in \(file) is no URL.")
        }
        components.queryItems = query.isEmpty ? nil : query.sorted { $0.key < $1.key }.map(URLQueryItem.init)
        guard let url = components.url else { throw LabCommandError("control_url in \(file) is no URL.") }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        // The lab has its own timeout.
        request.timeoutInterval = 3_600
        do {
            let (data, response) = try await URLSession.shared.data(for: request)
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            return (status, String(decoding: data, as: UTF8.self))
        } catch let error as URLError {
            throw LabCommandError("The lab of \(file) does not answer: \(error.localizedDescription)")
        }
    }

    /// Sends a request that the lab has to accept, and returns the body.
    @discardableResult
    func order(
        _ method: String,
        _ path: String,
        _ query: [String: String] = [:],
        body: String? = nil
    ) async throws -> String {
        let (status, text) = try await send(method, path, query, body: body)
        guard (200..<300).contains(status) else {
            let complaint = JSONValue(parsing: Array(text.utf8))?["error"]?.string
            throw LabCommandError(complaint ?? "The lab answers \(status): \(text)")
        }
        return text
    }

    private var file: String {
        place.hasSuffix(".json") ? place : place + "/lab.json"
    }

    private func control() throws -> String {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw LabCommandError("There is no \(file): start a lab with `carillon-lab serve --folder \(place)`.")
        }
        guard let addresses = try? JSONDecoder().decode(LabAddresses.self, from: data) else {
            throw LabCommandError("\(file) is not what a lab writes.")
        }
        guard let control = addresses.control else {
            throw LabCommandError("The lab of \(file) has no control endpoint.")
        }
        return control
    }
}

/// An error as a sentence for people.
struct LabCommandError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
