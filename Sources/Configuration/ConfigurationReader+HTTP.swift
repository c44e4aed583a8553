import HTTPLanes
import YAMLReading

extension ConfigurationReader {
    func http(_ value: YAMLValue) -> Configuration.HTTP {
        var http = Configuration.HTTP()
        guard let mapping = value.mapping(keys: ["ca_file", "allow_private", "proxy"]) else { return http }
        if let caFile = mapping["ca_file"], let name = caFile.string().map(path) {
            http.caFile = name
            http.caFileFingerprint = FileFingerprint(of: name)
            if let flaw = RootCertificates.flaw(ofFile: name) { caFile.mistake(flaw) }
        }
        for block in mapping["allow_private"]?.oneOrMore() ?? [] {
            guard let text = block.string() else { continue }
            if AddressBlock(text) == nil {
                block.mistake("expected a network, as in 10.1.2.0/24 or fd00::/8, with no bits set behind the prefix")
            }
            http.allowPrivate.append(text)
        }
        if let proxy = mapping["proxy"], let url = proxy.string() {
            http.proxy = url
            // Not what was written: it may hold a password.
            if Proxy(url) == nil { proxy.mistake("expected a proxy, as in \(Proxy.form)") }
        }
        return http
    }
}
