// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let descriptor: [ConformanceRule] = [
        .must(
            "DESC-01", level: 1, isEnforced: true,
            "The library opens with RTLD_NOW and RTLD_LOCAL: no symbol is missing.",
            because: "A symbol that is looked for only when it is called ends the process of whoever loads a URL.",
            remedy: "Link every library that the code uses, with -Wl,-z,defs, and look at what dlopen says."),
        .must(
            "DESC-02", level: 1, isEnforced: true,
            "The library exports portolan_plugin_entry, and should export nothing else.",
            because: "Every other exported name can be taken for that of another plugin.",
            remedy: "Compile with -fvisibility=hidden and put PORTOLAN_EXPORT on the entry alone."),
        .must(
            "DESC-03", level: 1,
            "The entry function gives the same descriptor each time, from any thread.",
            because: "The host keeps pointers into the descriptor and asks for it on whichever thread is at hand.",
            remedy: "Return the address of one static const structure."),
        .must(
            "DESC-04", level: 1, isEnforced: true,
            "A host of another major version gets NULL from the entry function.",
            because: "Structures of another version would be read as if they were of this one.",
            remedy: "Compare abi_major with PORTOLAN_ABI_MAJOR first, and return NULL where they differ."),
        .must(
            "DESC-05", level: 1, isEnforced: true,
            "Each structure is whole: size, counts and pointers agree, and nothing is read beyond the size that the host gave.",
            because: "A host and a plugin of different minor versions know only by the size what is there.",
            remedy: "Set size with sizeof, and ask PORTOLAN_HAS before reading what version 1 does not have."),
        .must(
            "DESC-06", level: 1, isEnforced: true,
            "Identifiers of plugin and handlers are reverse DNS in UTF-8, at most 255 bytes.",
            because: "Policies, logs and manifests name a plugin by it.",
            remedy: "Write it as in org.example.tide: labels of letters, digits, '-' and '_', two at least."),
        .must(
            "DESC-07", level: 1,
            "The version is Semantic Versioning 2.0.0, and name and vendor are text that is not empty.",
            because: "People and package managers compare versions, and read names.",
            remedy: "Write a version as in 1.0.0, and say who made the plugin."),
        .must(
            "DESC-08", level: 1, isEnforced: true,
            "Schemes follow RFC 3986, section 3.1, are in lower case and are named once.",
            because: "The registry finds a handler by comparing bytes.",
            remedy: "Begin with a letter, go on with letters, digits, '+', '-' and '.', and remove what stands twice."),
        .must(
            "DESC-09", level: 1,
            "Opening and describing leaves threads, descriptors, signals, locale, working folder, umask and environment as they are.",
            because: "A thousand plugins may lie on a machine, and a look at one must not change the process.",
            remedy: "Do nothing in constructors and in the entry function; begin in init."),
        .should(
            "DESC-10", level: 1,
            "Opening and describing takes under 100 ms.",
            because: "The first load of the scheme waits for it.",
            remedy: "Move tables and look-ups to init, or to the first load."),
        .must(
            "DESC-11", level: 1,
            "Asking the plugin for an unknown extension gives NULL.",
            because: "A host of a later version asks for what this plugin never heard of.",
            remedy: "Compare the identifier with those you know and return NULL for all others."),
        .must(
            "DESC-12", level: 1,
            "The library links no module of the host, and has no run path into a folder that others can write.",
            because: "It would load a second host into the process, or whatever somebody puts into that folder.",
            remedy: "Link nothing of Portolan but the headers or PortolanPluginKit, and remove -rpath."),
        .must(
            "DESC-13", level: 3,
            "A copy of the library opened beside the original works, and so does the original.",
            because: "A new build is opened beside the running one.",
            remedy: "Keep state in what init returns, not under fixed names in the process."),
    ]
}
